// Elements whose text stands out too little from what is behind it (WCAG AA: 4.5).
() => {
  const seen = (text) => text.match(/[\d.]+/g).map(Number);
  const part = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) =>
    0.2126 * part(r / 255) + 0.7152 * part(g / 255) + 0.0722 * part(b / 255);
  const ground = (node) => {
    for (let n = node; n; n = n.parentElement) {
      const colour = seen(getComputedStyle(n).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const weak = [];
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!own || !node.offsetParent) continue;
    const both = [light(seen(getComputedStyle(node).color)), light(ground(node))];
    const ratio = (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
    if (ratio < 4.5) weak.push(`${node.tagName} ${node.className} ${ratio.toFixed(2)}`);
  }
  return weak;
}
