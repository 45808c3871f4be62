// A live list: at the router's signal the page is loaded again, at most once a second, and the list is replaced.
// It comes as our own page, made where everything is escaped; nothing of a payload is put together here.
"use strict";

(function () {
  const said = document.getElementById("live-state");
  const dot = document.getElementById("live-dot");
  const pause = document.getElementById("live-pause");
  const PACE_MS = 1000;
  const FALLBACK_MS = 5000;
  let source = null;
  let fallback = null;
  let retry = null;
  let paused = false;
  let pressed = false;
  let busy = false;
  let again = false;

  const list = () => document.getElementById("live");
  const focused = () => (list().contains(document.activeElement) ? document.activeElement : null);
  // What somebody has ticked, or is about to press, stays as it is.
  const inUse = () => pressed || list().querySelector("input:checked") || focused()?.matches("input, button");

  function say(text, state) {
    said.textContent = text;
    dot.className = "dot " + state;
  }

  function renew() {
    again = true;
    if (!busy && !paused && !document.hidden) load();
  }

  async function load() {
    busy = true;
    const began = performance.now();
    if (!inUse()) {
      again = false;
      try {
        const answer = await fetch(location.href, { cache: "no-store", redirect: "error" });
        if (!answer.ok) throw new Error();
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("live");
        if (paused || inUse()) again = true;
        else replace(document.adoptNode(fresh));
        standing();
      } catch {
        say("the router does not answer, or you are logged out: reload the page", "off");
      }
    }
    // A list that takes long to make is asked for less often.
    setTimeout(() => { busy = false; if (again) renew(); }, Math.max(PACE_MS, 5 * (performance.now() - began)));
  }

  function replace(fresh) {
    const known = new Set([...list().querySelectorAll("tr[id]")].map((row) => row.id));
    const row = focused()?.closest("tr")?.id;
    for (const one of fresh.querySelectorAll("tr[id]")) if (known.size && !known.has(one.id)) one.classList.add("fresh");
    list().replaceWith(fresh);
    if (row) document.getElementById(row)?.querySelector("[data-row]")?.focus({ preventScroll: true });
  }

  function standing() {
    if (paused) say("paused", "");
    else if (source?.readyState === EventSource.OPEN) say("live", "on");
    else say("not live: reconnecting; the list updates every 5 s", "off");
  }

  function listen() {
    stop();
    source = new EventSource("/signal");
    fallback = setInterval(renew, FALLBACK_MS); // also behind a proxy that holds the signal back
    source.onopen = () => { clearInterval(fallback); fallback = null; standing(); renew(); };
    source.onmessage = renew;
    source.onerror = () => {
      standing();
      fallback ??= setInterval(renew, FALLBACK_MS);
      if (source.readyState === EventSource.CLOSED && !document.hidden) retry = setTimeout(listen, FALLBACK_MS);
    };
  }

  function stop() {
    source?.close();
    clearTimeout(retry);
    clearInterval(fallback);
    fallback = null;
  }

  for (const [type, is] of [["pointerdown", true], ["pointerup", false], ["pointercancel", false]]) {
    document.addEventListener(type, () => { pressed = is; }, true);
  }
  pause.hidden = false;
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.textContent = paused ? "resume" : "pause";
    pause.setAttribute("aria-pressed", String(paused));
    standing();
    if (!paused && again) renew();
  });
  // Browsers allow few connections to one server: a tab that nobody sees gives its one back.
  document.addEventListener("visibilitychange", () => {
    stop();
    if (!document.hidden) { listen(); renew(); }
  });
  addEventListener("pagehide", stop);
  addEventListener("pageshow", (event) => { if (event.persisted) { listen(); renew(); } });
  listen();
})();
