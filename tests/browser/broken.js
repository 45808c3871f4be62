// Words of buttons and of cells that keep words whole which take more than one line.
(() => {
  const found = [];
  for (const node of document.querySelectorAll("button, td.whole")) {
    const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      for (const word of walker.currentNode.data.matchAll(/[^\s\-/?]+/g)) {
        const range = document.createRange();
        range.setStart(walker.currentNode, word.index);
        range.setEnd(walker.currentNode, word.index + word[0].length);
        if (new Set([...range.getClientRects()].map((one) => one.top)).size > 1) found.push(word[0]);
      }
    }
  }
  return found;
})()
