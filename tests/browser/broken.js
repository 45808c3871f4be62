// Words that take more than one line, as far as people read them: code and ids may be cut anywhere.
(() => {
  const found = [];
  const LONGEST = 25;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    if (parent.closest("pre, code, .mono, textarea, script, .skip, .unseen") || !parent.offsetParent) continue;
    for (const word of walker.currentNode.data.matchAll(/[^\s\-/?.]+/g)) {
      if (word[0].length > LONGEST) continue;
      const range = document.createRange();
      range.setStart(walker.currentNode, word.index);
      range.setEnd(walker.currentNode, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map((one) => Math.round(one.top))).size > 1) found.push(word[0]);
    }
  }
  return found;
})()
