
// Pointing at a target word highlights the words it attends to, and the other way around. Without this script the
// page shows the same numbers in its maps, in the words' titles and under "As text".
for (const sample of document.querySelectorAll(".sample")) {
  const map = sample.querySelector("svg");
  const read = [...sample.querySelectorAll("dd [data-s]")];
  const written = [...sample.querySelectorAll("dd [data-t]")];
  const looks = written.map((word) =>
    word.dataset.look.split(" ").filter(Boolean).map((look) => look.split(":").map(Number)));

  const clear = () => {
    map?.classList.remove("looking");
    for (const thing of sample.querySelectorAll(".on")) thing.classList.remove("on");
    for (const word of [...read, ...written]) word.style.removeProperty("--look");
  };
  const mark = (selector) => sample.querySelectorAll(selector).forEach((thing) => thing.classList.add("on"));
  const showWritten = (t) => {
    map?.classList.add("looking");
    mark(`[data-t="${t}"]`);
    for (const [s, percent] of looks[t]) {
      read[s].style.setProperty("--look", Math.min(1, percent / 100));
      if (percent >= 10) mark(`svg [data-s="${s}"]`);
    }
  };
  const showRead = (s) => {
    mark(`[data-s="${s}"]`);
    looks.forEach((look, t) => {
      for (const [place, percent] of look) {
        if (place === s) written[t].style.setProperty("--look", Math.min(1, percent / 100));
      }
    });
  };
  const show = (event) => {
    clear();
    const word = event.target.closest("[data-t], [data-s]");
    if (!word) return;
    if (word.dataset.t !== undefined) showWritten(Number(word.dataset.t));
    else showRead(Number(word.dataset.s));
  };
  sample.addEventListener("pointerover", show);
  sample.addEventListener("focusin", show);
  sample.addEventListener("pointerleave", clear);
  sample.addEventListener("focusout", clear);
}
document.querySelector("#pointing")?.removeAttribute("hidden");
