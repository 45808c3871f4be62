// Everything in the page that could do something and is not ours.
() => {
  const bad = [];
  const links = /^(href|src|action|formaction|xlink:href)$/;
  for (const node of document.querySelectorAll("*")) {
    for (const { name, value } of node.attributes) {
      if (name.startsWith("on") || name === "style") bad.push(`${node.tagName} ${name}`);
      if (links.test(name) && new URL(value, location).origin !== location.origin) {
        bad.push(`${node.tagName} ${value}`);
      }
    }
  }
  const odd =
    "iframe, object, embed, svg:not(.chart), img, math, style, base, video, audio, marquee, meta[http-equiv]";
  for (const node of document.querySelectorAll(odd)) bad.push(node.tagName);
  for (const node of document.scripts) {
    if (!node.src.startsWith(location.origin + "/static/")) bad.push("script");
  }
  return bad;
}
