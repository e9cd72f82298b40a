/** Focus: when the page removes the element that has the focus, the focus goes to the list or the heading that stands there now. */

/** Keeps the focus below `root` until the function that it returns is called. */
export function keepFocus(root: HTMLElement): () => void {
  /** The element that had the focus last. Null if the person clicked beside everything. */
  let last: HTMLElement | null = null;
  const settle = () => {
    // Somebody who types, or has the focus anywhere else, is left alone.
    if (last === null || (document.activeElement !== null && document.activeElement !== document.body)) return;
    if (!last.isConnected) land(root);
    // A button that was disabled while its work ran gets the focus back.
    else if (!last.matches(":disabled")) last.focus({ preventScroll: true });
  };
  const entered = ({ target }: FocusEvent) => { last = target as HTMLElement; };
  const left = ({ target, relatedTarget }: FocusEvent) => {
    if (relatedTarget !== null) return;
    // An element that is there and enabled was left by a click beside everything. Others have lost the focus.
    queueMicrotask(() => {
      if (target === last && last?.isConnected && !last.matches(":disabled")) last = null;
    });
  };
  const observer = new MutationObserver(settle);
  observer.observe(root, { subtree: true, childList: true, attributeFilter: ["disabled"] });
  root.addEventListener("focusin", entered);
  root.addEventListener("focusout", left);
  return () => {
    observer.disconnect();
    root.removeEventListener("focusin", entered);
    root.removeEventListener("focusout", left);
  };
}

/** Puts the focus where the work goes on: in an open dialog, on the list, or else on the heading. */
export function land(root: ParentNode): void {
  const place = root.querySelector("dialog[open]") ?? root.querySelector("main") ?? root;
  const target = place.querySelector<HTMLElement>("[data-landing]") ?? place.querySelector<HTMLElement>("h1, h2");
  if (target && target.tabIndex < 0) target.tabIndex = -1;
  target?.focus({ preventScroll: true });
}
