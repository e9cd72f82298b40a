export interface Memory {
  own: number;
  all: number;
}
export function watch(id: number): () => Memory;
