//! Elements, made from texts only: nothing that a file or a name holds becomes markup.

type Child = Node | string | null | false;

/** Makes an element. */
export function make<Name extends keyof HTMLElementTagNameMap>(name: Name, attributes: Record<string, string> = {}, ...children: Child[]): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value);
  element.append(...children.filter((child): child is Node | string => child !== null && child !== false));
  return element;
}

/** Makes a button. */
export function button(classes: string, act: () => void, ...children: Child[]): HTMLButtonElement {
  const element = make("button", { type: "button", class: `button ${classes}` }, ...children);
  element.addEventListener("click", act);
  return element;
}

/** Words that only those hear who do not see the page. */
export function unseen(words: string): HTMLElement {
  return make("span", { class: "unseen" }, words);
}

/** What somebody else has named: its direction of writing stays within. */
export function named(name: string): HTMLElement {
  return make("bdi", {}, name);
}
