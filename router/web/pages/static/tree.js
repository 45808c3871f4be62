// A body that is indented JSON, folded into a tree: search, and the path of a value as conditions write it.
// Without this file the text stands there. The tree is made of its lines, so numbers and escapes stay as they are
// written, and of a large body only what is open is made.
"use strict";

(function () {
  const LINE = /^( *)(?:("(?:[^"\\]|\\.)*"): )?(.*?),?$/;
  const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
  const MADE_AT_ONCE = 200;
  const OPEN_LINES = 60;

  // One entry a line: its key's text, its value's text, the line that holds it, and its place among those there.
  function read(text) {
    const nodes = [];
    const open = [];
    const lines = text.split("\n");
    for (const [number, line] of lines.entries()) {
      const fits = take(line);
      if (!fits && number < lines.length - 1) return null;  // the last one may be cut
    }
    return nodes.length > 1 ? nodes : null;

    function take(line) {
      const [, indent, key, value] = LINE.exec(line) || [];
      if (value === undefined) return false;
      if (value === "}" || value === "]") return open.pop() !== undefined;
      const parent = open.length ? open[open.length - 1] : -1;
      if (!value || indent.length !== 2 * open.length || (parent < 0 && nodes.length)) return false;
      const node = { key, value, parent, children: [], at: parent < 0 ? 0 : nodes[parent].children.length };
      if (parent >= 0) nodes[parent].children.push(nodes.length);
      if (value === "{" || value === "[") open.push(nodes.length);
      nodes.push(node);
      return true;
    }
  }

  function nameOf(key) {
    try {
      const name = JSON.parse(key);
      return NAME.test(name) ? name : key;
    } catch {
      return key;  // it has a character that is shown as an escape of ours
    }
  }

  function tree(pre, nodes) {
    const make = (tag, given, ...inside) => {
      const node = Object.assign(document.createElement(tag), given);
      node.append(...inside);
      return node;
    };
    const root = pre.dataset.tree;
    const made = new Map();
    const isOpen = (n) => nodes[n].value === "{" || nodes[n].value === "[";

    function path(n) {
      const { key, parent } = nodes[n];
      if (parent < 0) return root.replace(/\[\]$/, "");
      if (key !== undefined) return `${path(parent)}.${nameOf(key)}`;
      // Each item of a batch is the payload of an event of its own.
      if (nodes[parent].parent < 0 && root.endsWith("[]")) return path(parent);
      return `${path(parent)}[${nodes[n].at}]`;
    }

    function label(n) {
      const { key, value, parent, children } = nodes[n];
      const name = key ?? (parent < 0 ? root.replace(/\[\]$/, "") : `${nodes[n].at}`);
      const shown = isOpen(n) ? `${value} ${children.length} ${value === "{" ? "}" : "]"}` : value;
      return make("span", { className: "line" }, make("span", { className: "key" }, name), ": ", make("span", { className: "value" }, shown));
    }

    function item(n) {
      const node = make("div", { tabIndex: -1 }, label(n));
      node.setAttribute("role", "treeitem");
      node.dataset.node = n;
      if (isOpen(n)) node.setAttribute("aria-expanded", "false");
      made.set(n, node);
      return node;
    }

    // Makes children up to this one, some at a time; a button brings more.
    function fill(n, upto) {
      const node = made.get(n);
      let group = node.querySelector(":scope > [role=group]");
      if (!group) {
        group = make("div", {});
        group.setAttribute("role", "group");
        node.append(group);
      }
      const { children } = nodes[n];
      const from = Number(group.dataset.made || 0);
      const to = Math.min(children.length, Math.max(upto, from));
      group.querySelector(":scope > button")?.remove();
      for (const child of children.slice(from, to)) group.append(item(child));
      group.dataset.made = to;
      if (to < children.length) {
        const more = make("button", { type: "button", onclick: () => fill(n, to + MADE_AT_ONCE) }, `${children.length - to} more`);
        group.append(more);
      }
    }

    function set(n, open) {
      if (!isOpen(n)) return;
      if (open) fill(n, MADE_AT_ONCE);
      made.get(n).setAttribute("aria-expanded", String(open));
    }

    function reveal(n) {
      const { parent } = nodes[n];
      if (parent >= 0) {
        reveal(parent);
        set(parent, true);
        if (!made.has(n)) fill(parent, nodes[n].at + 1);
      }
    }

    let current = 0;
    function choose(n, focus) {
      made.get(current).tabIndex = -1;
      current = n;
      made.get(n).tabIndex = 0;
      where.textContent = path(n);
      if (focus) made.get(n).focus();
    }

    const shownItems = () => [...box.querySelectorAll("[role=treeitem]")].filter((one) => one.offsetParent);
    function step(by) {
      const all = shownItems();
      const next = all[all.indexOf(made.get(current)) + by];
      if (next) choose(Number(next.dataset.node), true);
    }

    const isExpanded = (n) => made.get(n).getAttribute("aria-expanded") === "true";
    const keys = {
      ArrowDown: () => step(1),
      ArrowUp: () => step(-1),
      ArrowRight: () => (isOpen(current) && !isExpanded(current) ? set(current, true) : step(1)),
      ArrowLeft: () => (isExpanded(current) ? set(current, false) : nodes[current].parent >= 0 && choose(nodes[current].parent, true)),
      Enter: () => set(current, !isExpanded(current)),
    };

    let hits = [];
    let hit = -1;
    function seek(by) {
      const wanted = search.value.toLowerCase();
      if (search.dataset.sought !== wanted) {
        search.dataset.sought = wanted;
        hits = [];
        if (wanted) nodes.forEach(({ key, value }, n) => { if (`${key ?? ""}: ${value}`.toLowerCase().includes(wanted)) hits.push(n); });
        hit = by > 0 ? -1 : 0;
      }
      box.querySelectorAll(".hit").forEach((one) => one.classList.remove("hit"));
      if (!hits.length) { found.textContent = wanted ? "not found" : ""; return; }
      hit = (hit + by + hits.length) % hits.length;
      found.textContent = `${hit + 1} of ${hits.length}`;
      reveal(hits[hit]);
      choose(hits[hit], false);
      made.get(current).classList.add("hit");
      made.get(current).firstChild.scrollIntoView({ block: "nearest" });
    }

    const search = make("input", { type: "search", placeholder: "search", autocomplete: "off", spellcheck: false });
    search.dataset.key = "search";
    search.setAttribute("aria-label", "Search in the body");
    const found = make("span", { className: "faint" });
    found.setAttribute("role", "status");
    const where = make("code", { id: "tree-path" });
    const copy = make("button", { type: "button" }, "Copy path");
    copy.dataset.copy = "tree-path";
    const plain = make("button", { type: "button" }, "As text");
    plain.setAttribute("aria-pressed", "false");
    const box = make("div", { className: "tree" });
    box.setAttribute("role", "tree");
    box.setAttribute("aria-label", "Body");

    search.addEventListener("input", () => seek(1));
    search.addEventListener("keydown", (event) => {
      if (event.key === "Enter") { event.preventDefault(); seek(event.shiftKey ? -1 : 1); }
    });
    box.addEventListener("click", (event) => {
      const node = event.target.closest(".line")?.parentElement;
      if (!node || getSelection().toString()) return;
      const n = Number(node.dataset.node);
      choose(n, true);
      set(n, !isExpanded(n));
    });
    box.addEventListener("keydown", (event) => {
      const act = event.target.matches("[role=treeitem]") && keys[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act();
    });
    plain.addEventListener("click", () => {
      pre.hidden = !pre.hidden;
      box.hidden = !pre.hidden;
      plain.setAttribute("aria-pressed", String(box.hidden));
    });

    box.append(item(0));
    set(0, true);
    for (const n of nodes[0].children) if (made.has(n) && nodes[n].children.length + nodes[0].children.length < OPEN_LINES) set(n, true);
    choose(0, false);
    pre.before(make("div", { className: "acts" }, search, found, where, copy, plain), box);
    pre.hidden = true;
  }

  for (const pre of document.querySelectorAll("[data-tree]")) {
    const nodes = read(pre.textContent);
    if (nodes) tree(pre, nodes);
  }
})();
