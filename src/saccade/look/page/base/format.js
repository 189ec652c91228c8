// Formatting of words and numbers for display.

const ACTING = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\ufffe\uffff]/gu;

/** Replace control and format characters by visible ones. */
export function visible(text) {
  const shown = String(text).replace(ACTING, (character) => {
    const code = character.codePointAt(0);
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    if (code === 0x7f) return "␡";
    return code === 0x200c || code === 0x200d ? character : "\ufffd"; // joiners, which many scripts need
  });
  return shown.trim() ? shown : "␣".repeat(shown.length);
}

const letters = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** Cut the text to at most `most` letters, with … at the end if it was longer. */
export function clip(text, most) {
  if (text.length <= most) return text;
  const found = [...letters.segment(text)].map((part) => part.segment);
  return found.length <= most ? text : `${found.slice(0, most - 1).join("")}…`;
}

/** Approximate width in Latin letters: characters of wide scripts count 1.8. */
export const breadth = (text) =>
  [...text].reduce((sum, character) => sum + (/[\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7a3\uff00-\uff60]/u.test(character)
    ? 1.8 : 1), 0);

/** 0.974 -> "97 %"; small values keep a decimal. */
export function percent(share) {
  if (!Number.isFinite(share)) return "none";
  const whole = 100 * share;
  if (whole > 0 && whole < 0.1) return "< 0.1 %";
  return `${whole !== 0 && whole < 9.95 ? whole.toFixed(1) : whole.toFixed(0)} %`;
}

/** Format a number with a minus sign (U+2212), and without a sign for zero. */
export const decimal = (number, digits = 2) =>
  Number.isFinite(number) ? number.toFixed(digits).replace(/^-(?=[0.]+$)/, "").replace("-", "−") : "none";

export const counted = (count) => count.toLocaleString("en").replaceAll(",", "\u202f");
