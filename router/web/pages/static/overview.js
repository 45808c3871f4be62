// The overview: while it is looked at it is loaded again now and then, and what is different is replaced.
// It comes as our own page, made where everything is escaped; nothing is put together here.
"use strict";

(function () {
  const PACE_MS = 10_000;
  const IDS = ["attention", "tiles", "charts", "endpoints", "targets", "refusals", "nodes", "overview-said"];
  const last = {};
  let timer = null;

  function later() {
    clearTimeout(timer);
    timer = document.hidden ? null : setTimeout(renew, PACE_MS);
  }

  // What somebody has opened, or stands in, stays as it is.
  const inUse = (node) => node.contains(document.activeElement) || node.querySelector("details[open]");

  async function renew() {
    try {
      const answer = await fetch("/", { cache: "no-store", redirect: "error" });
      if (!answer.ok) throw new Error();
      document.getElementById("overview-failed").textContent = "";
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const id of IDS) {
        const old = document.getElementById(id);
        const now = fresh.getElementById(id);
        if (!now || now.innerHTML === last[id] || inUse(old)) continue;
        last[id] = now.innerHTML;
        old.replaceWith(document.adoptNode(now));
      }
    } catch {
      document.getElementById("overview-failed").textContent = "the router does not answer, or you are logged out: reload the page";
    }
    later();
  }

  document.addEventListener("visibilitychange", () => { if (document.hidden) later(); else renew(); });
  addEventListener("pageshow", (event) => { if (event.persisted) later(); });
  addEventListener("pagehide", () => clearTimeout(timer));
  later();
})();
