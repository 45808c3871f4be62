// Times as people say them: "3 min ago", the exact one in the reader's zone beside it on hover, with the focus and by a tap.
// Every page works without this file: times are UTC then.
"use strict";

(function () {
  const UNITS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const RELATIVE_MAX_S = 7 * 86400;
  const RENEW_MS = 10000;
  // How far this machine's clock is ahead of the router's, which the times are by.
  const ahead = Date.now() - Number(document.body.dataset.now || Date.now());
  const two = (number) => String(number).padStart(2, "0");

  function exact(at) {
    const day = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join("-");
    return `${day} ${[at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(":")}`;
  }

  function relative(at) {
    const seconds = Math.round((Date.now() - ahead - at) / 1000);
    if (Math.abs(seconds) >= RELATIVE_MAX_S) return exact(at);
    const [unit, size] = UNITS.find(([, size]) => Math.abs(seconds) >= size) || ["s", 1];
    const many = Math.floor(Math.abs(seconds) / size);
    return many === 0 ? "just now" : seconds > 0 ? `${many} ${unit} ago` : `in ${many} ${unit}`;
  }

  // Facts have room for both; in a list the exact one is shown of the line that the keyboard has come to.
  function write(node) {
    const at = new Date(node.dateTime);
    const [near, whole] = [relative(at), exact(at)];
    node.title = `${whole} (${node.dateTime})`;
    const both = node.closest("dl.facts") && near !== whole;
    const wanted = both ? `${whole} (${near})` : node.closest("tr:has(:focus-visible), .exact") ? whole : near;
    if (node.textContent !== wanted) node.textContent = wanted;
  }

  // A link that moves away between press and release is not followed: until then nothing is written.
  let pressed = false;
  for (const [type, is] of [["pointerdown", true], ["pointerup", false], ["pointercancel", false]]) {
    document.addEventListener(type, () => { pressed = is; }, true);
  }
  const writeAll = (within) => { if (!pressed) within.querySelectorAll("time[datetime]").forEach(write); };

  // After the focus has moved: until then neither row has it.
  for (const moved of ["focusin", "focusout"]) {
    document.addEventListener(moved, (event) => {
      const row = event.target.closest?.("tr");
      if (row) setTimeout(() => writeAll(row), 0);
    });
  }
  document.addEventListener("click", (event) => {
    const time = event.target.closest("time");
    if (!time || time.closest("a")) return;
    time.classList.toggle("exact");
    write(time);
  });

  const zone = document.getElementById("zone");
  if (zone) zone.textContent = `times are in your zone, ${Intl.DateTimeFormat().resolvedOptions().timeZone}`;
  writeAll(document);
  setInterval(() => { if (!document.hidden) writeAll(document); }, RENEW_MS);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) writeAll(document); });
  // Rows that come later: only elements that were added, so that what is written here asks for nothing more.
  new MutationObserver((changes) => {
    for (const change of changes) for (const node of change.addedNodes) if (node.nodeType === Node.ELEMENT_NODE) writeAll(node);
  }).observe(document.getElementById("main"), { childList: true, subtree: true });
})();
