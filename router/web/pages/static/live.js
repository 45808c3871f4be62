// The live view: when something happens, the rows are loaded again, at most once a second.
// They come as our own page, made where everything is escaped; nothing of a payload is put together here.
"use strict";

(function () {
  const body = document.getElementById("rows");
  const said = document.getElementById("live-state");
  const dot = document.getElementById("live-dot");
  const pause = document.getElementById("live-pause");
  const PACE_MS = 1000;
  const FALLBACK_MS = 5000;
  let source = null;
  let paused = false;
  let timer = null;
  let busy = false;
  let again = false;

  function say(text, state) {
    said.textContent = text;
    dot.className = "dot " + state;
  }

  function renew() {
    if (paused || document.hidden) { again = true; return; }
    if (timer !== null || busy) { again = true; return; }
    timer = setTimeout(() => { timer = null; }, PACE_MS);
    fetchRows();
  }

  async function fetchRows() {
    busy = true;
    again = false;
    try {
      const answer = await fetch("/live/rows" + location.search, { cache: "no-store" });
      if (answer.status === 401) { say("logged out: reload the page", "off"); stop(); return; }
      if (answer.ok) replace(await answer.text());
    } catch {
      say("no answer from the router", "off");
    } finally {
      busy = false;
      setTimeout(() => { if (again) renew(); }, PACE_MS);
    }
  }

  function replace(html) {
    const fresh = new DOMParser().parseFromString(html, "text/html").getElementById("rows");
    if (!fresh) return;
    const known = new Set([...body.children].map((row) => row.id));
    const focused = document.activeElement?.closest?.("tr")?.id;
    const rows = [...fresh.children].map((row) => document.adoptNode(row));
    for (const row of rows) if (row.id && known.size && !known.has(row.id)) row.classList.add("fresh");
    body.replaceChildren(...rows);
    if (focused) document.getElementById(focused)?.querySelector("[data-row]")?.focus({ preventScroll: true });
  }

  let fallback = null;
  function listen() {
    source = new EventSource("/live/feed");
    source.onopen = () => { say("live", "on"); clearInterval(fallback); fallback = null; renew(); };
    source.onerror = () => {
      say("not live: reconnecting; rows update every 5 s", "off");
      fallback ??= setInterval(renew, FALLBACK_MS);
      if (source.readyState === EventSource.CLOSED && !document.hidden) setTimeout(listen, FALLBACK_MS);
    };
    for (const kind of ["delivery", "duplicate", "attempt", "refusal", "gap"]) source.addEventListener(kind, renew);
  }

  function stop() {
    source?.close();
    clearInterval(fallback);
    fallback = null;
  }

  pause.hidden = false;
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.textContent = paused ? "resume" : "pause";
    pause.setAttribute("aria-pressed", String(paused));
    say(paused ? "paused" : "live", paused ? "" : "on");
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
