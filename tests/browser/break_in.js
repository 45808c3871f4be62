// What a script in a payload would do if escaping failed.
() => {
  const script = document.createElement("script");
  script.textContent = "window.ran = 1";
  const image = document.createElement("img");
  image.setAttribute("onerror", "window.ran = 1");
  image.src = "/static/none.svg";
  const style = document.createElement("style");
  style.textContent = "body { display: none }";
  document.body.append(script, image, style);
}
