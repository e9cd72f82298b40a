/** A small PDF: two pages with words and colours, written by hand. */
export function paper(title: string, script = ""): Uint8Array<ArrayBuffer> {
  const content = (page: number) => `0.12 0.36 0.28 rg 0 700 595 142 re f 1 1 1 rg BT /F1 30 Tf 60 755 Td (${title}) Tj ET 0.1 0.1 0.1 rg BT /F1 14 Tf 60 640 Td 20 TL (Page ${page}) Tj T* (What is kept for a long time is looked at before it is taken out.) Tj T* (A second line of it.) Tj ET 0.87 0.62 0.3 rg 60 430 220 120 re f 0.94 0.85 0.7 rg 300 430 120 120 re f`;
  const stream = (text: string) => `<< /Length ${text.length} >>\nstream\n${text}\nendstream`;
  const page = (contents: number) => `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 7 0 R >> >> /Contents ${contents} 0 R >>`;
  const objects = [
    `<< /Type /Catalog /Pages 2 0 R ${script ? `/OpenAction << /S /JavaScript /JS (${script}) >>` : ""} >>`,
    "<< /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 >>", page(5), page(6), stream(content(1)), stream(content(2)),
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
  ];
  let text = "%PDF-1.7\n";
  const places = objects.map((object, i) => {
    const at = text.length;
    text += `${i + 1} 0 obj\n${object}\nendobj\n`;
    return at;
  });
  const start = text.length;
  text += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${places.map((at) => `${String(at).padStart(10, "0")} 00000 n \n`).join("")}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${start}\n%%EOF\n`;
  return new TextEncoder().encode(text);
}
