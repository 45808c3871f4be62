// Completes the fields of this event while one types a condition; the page's own table has them.
"use strict";

(function () {
  const area = document.getElementById("text");
  const list = document.getElementById("completions");
  const rows = document.querySelectorAll("#fields tbody tr");
  if (!rows.length) return;
  const fields = [...rows].map((row) => [...row.cells].map((cell) => cell.textContent));
  const MOST = 8;
  const WORD = /(?:[A-Za-z_$][\w$]*|"(?:[^"\\]|\\.)*"?|\[\d*\]?|\.)+$/;
  let at = -1;

  area.setAttribute("aria-autocomplete", "list");
  area.setAttribute("aria-controls", "completions");

  const word = () => WORD.exec(area.value.slice(0, area.selectionStart))?.[0] ?? "";
  const bare = (path) => path.replace(/^length\((.*)\)$/, "$1");

  // What begins with the word comes first, then what has it anywhere.
  function fitting(typed) {
    const low = typed.toLowerCase();
    const found = fields.filter(([path]) => bare(path).toLowerCase().includes(low) && bare(path) !== typed);
    const begins = ([path]) => bare(path).toLowerCase().startsWith(low);
    return [...found.filter(begins), ...found.filter((one) => !begins(one))].slice(0, MOST);
  }

  function close() {
    at = -1;
    list.hidden = true;
    list.replaceChildren();
    area.removeAttribute("aria-activedescendant");
  }

  function show() {
    const typed = word();
    close();
    if (typed.length < 2 || area.selectionStart !== area.selectionEnd) return;
    fitting(typed).forEach(([path, value], number) => {
      const item = document.createElement("li");
      item.id = "completion-" + number;
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", "false");
      const code = document.createElement("code");
      code.textContent = path;
      const shown = document.createElement("span");
      shown.className = "faint";
      shown.textContent = value;
      item.append(code, " ", shown);
      item.addEventListener("mousedown", (event) => { event.preventDefault(); take(path); });
      list.append(item);
    });
    list.hidden = !list.children.length;
  }

  function choose(step) {
    const items = [...list.children];
    items[at]?.setAttribute("aria-selected", "false");
    at = (at + step + items.length + (at < 0 && step < 0 ? 1 : 0)) % items.length;
    items[at].setAttribute("aria-selected", "true");
    area.setAttribute("aria-activedescendant", items[at].id);
  }

  function take(path) {
    const end = area.selectionStart;
    area.setRangeText(path, end - word().length, end, "end");
    close();
  }

  area.addEventListener("input", show);
  area.addEventListener("blur", close);
  area.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter") area.form.requestSubmit();
    if (list.hidden) return;
    const chosen = list.children[Math.max(at, 0)];
    const does = {
      ArrowDown: () => choose(1),
      ArrowUp: () => choose(-1),
      Tab: () => take(chosen.firstChild.textContent),
      Escape: close,
    };
    if (at >= 0) does.Enter = does.Tab;
    if (does[event.key]) {
      event.preventDefault();
      does[event.key]();
    }
  });
})();
