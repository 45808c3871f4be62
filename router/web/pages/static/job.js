// A job that has not ended: its page is loaded again, and what is different is replaced.
// It comes as our own page, made where everything is escaped; nothing is put together here.
"use strict";

(function () {
  const said = document.getElementById("job-said");
  const RUNNING_MS = 700;
  const WAITING_MS = 3000;
  let timer = null;
  let asking = false;

  const place = () => document.getElementById("job-state");
  const over = () => place().dataset.open !== "yes";
  const pace = () => (place().dataset.state === "waiting" || place().dataset.state === "retryable" ? WAITING_MS : RUNNING_MS);

  function later() {
    clearTimeout(timer);
    timer = over() || document.hidden ? null : setTimeout(renew, pace());
    if (over()) said.textContent = "ended";
  }

  async function renew() {
    if (asking) return;
    asking = true;
    try {
      const answer = await fetch(location.href, { cache: "no-store", redirect: "error" });
      if (!answer.ok) throw new Error();
      take(new DOMParser().parseFromString(await answer.text(), "text/html"));
      said.textContent = "followed while it is open";
    } catch {
      said.textContent = "the router does not answer, or you are logged out: reload the page";
    } finally {
      asking = false;
      later();
    }
  }

  function take(fresh) {
    for (const id of ["job-output", "job-attempts", "job-acts", "job-state"]) {
      const old = document.getElementById(id);
      const now = fresh.getElementById(id);
      if (now && old.dataset.version !== now.dataset.version) old.replaceWith(document.adoptNode(now));
      else if (now && id === "job-output") now.querySelectorAll("pre").forEach(grow);
    }
  }

  // Text that only grew is added to, so that a selection and the place that one reads at stay.
  function grow(now) {
    const old = document.getElementById(now.id);
    const text = now.textContent;
    if (text === old.textContent) return;
    const atEnd = old.scrollHeight - old.scrollTop - old.clientHeight < 4;
    if (text.startsWith(old.textContent)) old.append(text.slice(old.textContent.length));
    else old.textContent = text;
    if (atEnd) old.scrollTop = old.scrollHeight;
  }

  document.addEventListener("visibilitychange", () => { if (!document.hidden && !over()) renew(); });
  addEventListener("pageshow", (event) => { if (event.persisted) later(); });
  addEventListener("pagehide", () => clearTimeout(timer));
  later();
})();
