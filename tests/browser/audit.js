// What a reader may stumble over: things to use that have no name, and words too faint for WCAG AA.
() => {
  const seen = (element) => element.checkVisibility({ checkVisibilityCSS: true, checkOpacity: true })
    && element.getClientRects().length > 0;
  const nameOf = (element) => (element.getAttribute("aria-label") || element.textContent || "").trim()
    || [...(element.labels ?? [])].map((label) => label.textContent.trim()).join(" ") || element.getAttribute("title");
  const usable = "button, a[href], input, select, textarea, summary, [tabindex], [role=button], canvas[role=img]";
  const nameless = [...document.querySelectorAll(usable)].filter((element) => seen(element)
    && !nameOf(element)).map((element) => element.outerHTML.slice(0, 120));

  const parse = (text) => {
    const numbers = (text.match(/-?[\d.]+(e-?\d+)?/g) ?? []).map(Number);
    return text.startsWith("color(srgb") ? [...numbers.slice(0, 3).map((part) => part * 255), numbers[3] ?? 1]
      : [numbers[0], numbers[1], numbers[2], numbers[3] ?? 1];
  };
  const over = (top, below) => [0, 1, 2].map((part) => top[part] * top[3] + below[part] * (1 - top[3])).concat(1);
  const light = (colour) => [0.2126, 0.7152, 0.0722].reduce((sum, share, part) => {
    const value = colour[part] / 255;
    return sum + share * (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  }, 0);
  const behind = (element) => {
    const layers = [];
    for (let each = element; each; each = each.parentElement) {
      const sibling = each.tagName === "g" && each.querySelector("rect"); // the box behind a word of a drawing
      if (sibling) layers.push(parse(getComputedStyle(sibling).fill));
      layers.push(parse(getComputedStyle(each).backgroundColor));
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
  };
  const faint = [];
  let lookedAt = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || element.closest("script, style, noscript, option, .hidden, .skip")
      || !seen(element)) continue;
    if (element.closest(":disabled") && element.closest("select, button")) continue; // WCAG exempts what cannot be used
    lookedAt += 1;
    const style = getComputedStyle(element);
    const below = behind(element);
    const ink = over(parse(element instanceof SVGElement ? style.fill : style.color), below);
    const [dark, bright] = [light(ink), light(below)].sort((one, two) => one - two);
    const contrast = (bright + 0.05) / (dark + 0.05);
    if (contrast < 4.5) faint.push(`${node.data.trim().slice(0, 40)}: ${contrast.toFixed(2)}`);
  }
  return { nameless, faint, "looked at": lookedAt };
}
