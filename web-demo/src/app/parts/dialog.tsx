/** A dialog: the browser's own, which holds the focus, closes on Escape and gives the focus back. */

import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { land } from "../focus";
import { Icon } from "./icon";
import { parts as words } from "../../words/parts";

export function Dialog({ title, children, footer, close, broad = false, wide = false, firm = false }: {
  title: string;
  children: ComponentChildren;
  footer?: ComponentChildren;
  close: () => void;
  broad?: boolean;
  /** As wide as the window lets it be. */
  wide?: boolean;
  /** Has no cross and does not close on a click beside it. */
  firm?: boolean;
}) {
  const element = useRef<HTMLDialogElement>(null);
  const name = useId();
  useLayoutEffect(() => {
    const dialog = element.current;
    if (!dialog) return;
    const before = document.activeElement;
    dialog.showModal();
    return () => {
      dialog.close();
      // The browser gives the focus back only to what it finds when the dialog still stands in the document.
      if (before instanceof HTMLElement && before !== document.body && before.isConnected) before.focus({ preventScroll: true });
      else land(document);
    };
  }, []);
  // A second Escape closes a dialog whatever the page says of it: one that has to stay is opened again.
  const reopen = () => {
    if (element.current === null) return;
    close();
    setTimeout(() => { if (element.current?.open === false) element.current.showModal(); });
  };
  return (
    <dialog ref={element} class={wide ? "sheet wide" : broad ? "sheet broad" : "sheet"} aria-labelledby={name}
      onCancel={(event) => { event.preventDefault(); close(); }}
      onClose={reopen}
      onClick={(event) => { if (!firm && event.target === element.current) close(); }}>
      <header>
        <h2 id={name}>{title}</h2>
        {!firm && <button type="button" class="button plain icon small" aria-label={words.close} onClick={close}><Icon name="close" size={18} /></button>}
      </header>
      <div class="content">{children}</div>
      {footer && <footer>{footer}</footer>}
    </dialog>
  );
}
