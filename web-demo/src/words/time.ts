/** Time: days, spans and what is left, in words. */

import { counted } from "./numbers";
import { words } from "./language";

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

export const time = words("time", {
  today: (clock: string) => `Today, ${clock}`,
  yesterday: (clock: string) => `Yesterday, ${clock}`,
  /** "12 Mar, 14:05". */
  at: (day: string, clock: string) => `${day}, ${clock}`,
  /** The same inside a sentence. */
  within: (said: string) => said.replace(/^(Today|Yesterday)/, (word) => word.toLowerCase()),
  /** "2026-03-12 14:05" inside a sentence. */
  moment: (stamp: string) => stamp,
  /** `month` counts from 0; the year is none where it is this one. */
  day: (day: number, month: number, year: number | null) => `${day} ${MONTHS[month] ?? ""}${year === null ? "" : ` ${year}`}`,
  /** Between the larger and the smaller unit of a span: "3 min 20 s". */
  units: { s: "s", min: "min", h: "h", days: "days" },
  estimating: "estimating…",
  fewSecondsLeft: "a few seconds left",
  secondsLeft: (seconds: number) => `about ${seconds} s left`,
  minuteLeft: "about a minute left",
  minutesLeft: (minutes: number) => `about ${minutes} min left`,
  hoursLeft: (hours: number, minutes: number) => `about ${hours} h${minutes === 0 ? "" : ` ${minutes} min`} left`,
  justNow: "just now",
  minutesAgo: (minutes: number) => `${counted(minutes, "minute", "minutes")} ago`,
  hoursAgo: (hours: number) => `${counted(hours, "hour", "hours")} ago`,
  daysAgo: (days: number) => `${counted(days, "day", "days")} ago`,
  monthsAgo: (months: number) => `${counted(months, "month", "months")} ago`,
  yearsAgo: (years: number) => `${counted(years, "year", "years")} ago`,
});
