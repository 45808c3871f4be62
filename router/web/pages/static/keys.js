// Keys for lists and pages. Every page works without this file.
"use strict";

(function () {
  const typing = (node) => node instanceof HTMLElement && node.matches("input, textarea, select, dialog *");
  const rows = () => [...document.querySelectorAll("[data-row]")].filter((row) => row.offsetParent !== null);

  function move(step) {
    const all = rows();
    if (!all.length) return;
    const here = all.indexOf(document.activeElement);
    const next = here < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(Math.max(here + step, 0), all.length - 1);
    all[next].focus();
    all[next].scrollIntoView({ block: "nearest" });
  }

  function toFirst(selector) {
    const found = document.querySelector(selector);
    if (!found) return false;
    found.closest("details")?.setAttribute("open", "");
    found.focus();
    found.select?.();
    return true;
  }

  function help() {
    const box = document.getElementById("keys");
    if (box && !box.open) box.showModal();
  }

  const does = {
    j: () => move(1),
    k: () => move(-1),
    r: () => toFirst("[data-key=r]"),
    t: () => toFirst("[data-key=t]"),
    "/": () => toFirst("[data-key=search]"),
    "?": help,
    x: () => document.activeElement.closest("tr")?.querySelector("input[type=checkbox]")?.click(),
    u: () => document.querySelector("[data-key=up]")?.click(),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    const act = does[event.key];
    if (act) {
      event.preventDefault();
      act();
    }
  });

  document.querySelectorAll("[data-copy]").forEach((button) => { button.hidden = false; });
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const from = document.getElementById(button.dataset.copy);
    const was = button.textContent;
    try {
      await navigator.clipboard.writeText(from.textContent);
      button.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(from);
      button.textContent = "selected: copy it";
    }
    setTimeout(() => { button.textContent = was; }, 2000);
  });

  for (const button of document.querySelectorAll("[data-help]")) {
    button.hidden = false;
    button.addEventListener("click", help);
  }

  // A form is sent once: a second press while the first is under way makes nothing twice.
  for (const form of document.querySelectorAll("form[method=post]")) {
    form.addEventListener("submit", () => {
      setTimeout(() => form.querySelectorAll("button").forEach((one) => { one.disabled = true; }), 0);
    });
  }
  addEventListener("pageshow", (event) => {
    if (event.persisted) document.querySelectorAll("button:disabled").forEach((one) => { one.disabled = false; });
  });
})();
