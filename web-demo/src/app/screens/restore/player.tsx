/** A player: sound and film, read piece by piece as they are played. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Entry, Preview, Problem, Snapshot, Stream } from "../../../core/api";
import { problemOf } from "../../../core/problem";
import { preview as words } from "../../../words/preview";
import type { App } from "../../app";
import { Empty, ProblemNotice } from "../../parts/notice";
import { shown } from "../../words";

export function Player({ app, snapshot, entry, preview }: { app: App; snapshot: Snapshot; entry: Entry; preview: Preview }) {
  const [stream, setStream] = useState<Stream | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [isSilent, setSilent] = useState(false);
  const element = useRef<HTMLVideoElement & HTMLAudioElement>(null);
  useEffect(() => {
    let end = () => {};
    let isGone = false;
    app.core.stream(snapshot.id, entry.id, preview.mediaType!).then((opened) => {
      if (isGone) return opened.end();
      end = opened.end;
      opened.onProblem(setProblem);
      setStream(opened);
    }, (thrown) => setProblem(problemOf(thrown)));
    return () => {
      isGone = true;
      end();
    };
  }, [app, snapshot.id, entry.id]);
  // What was read of it is let go of at once, and not when a garbage collector looks at it.
  useEffect(() => {
    const player = element.current;
    return () => {
      player?.removeAttribute("src");
      player?.load();
    };
  }, [stream]);
  if (problem?.code === "unsupported") return <Empty icon="play" title={words.noPlayer.title}><p>{words.noPlayer.advice}</p></Empty>;
  if (isSilent && problem) return <ProblemNotice problem={problem} />;
  if (isSilent) return <Empty icon="play" title={words.noSound.title}><p>{words.noSound.advice}</p></Empty>;
  if (stream === null) return problem && <ProblemNotice problem={problem} />;
  const Kind = preview.kind === "audio" ? "audio" : "video";
  return (
    <>
    {/* The browser reads ahead: what comes before the damage is played all the same. */}
    {problem && <ProblemNotice problem={problem} />}
    <Kind ref={element} class={preview.kind === "audio" ? "sound" : "film"} src={stream.address} controls preload="metadata" aria-label={(preview.kind === "audio" ? words.sound : words.film)(shown(entry.name))}
      controlsList="nodownload noremoteplayback" disableRemotePlayback playsInline
      // Bytes came again: whatever kept them back is over, unless it was damage.
      onProgress={() => setProblem((before) => (before?.code === "damaged" ? before : null))}
      // Who watches is there.
      onTimeUpdate={() => app.core.touch()} onError={() => setSilent(true)} />
    </>
  );
}
