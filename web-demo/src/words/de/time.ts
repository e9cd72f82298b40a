/** Time, in German. */

import type { time as english } from "../time";
import { counted } from "../numbers";

const MONTHS = ["Jan.", "Feb.", "März", "Apr.", "Mai", "Juni", "Juli", "Aug.", "Sept.", "Okt.", "Nov.", "Dez."];

export const time: typeof english = {
  today: (clock) => `Heute, ${clock}`,
  yesterday: (clock) => `Gestern, ${clock}`,
  at: (day, clock) => `${day}, ${clock}`,
  within: (said) => said.replace(/^(Heute|Gestern)/, (word) => word.toLowerCase()),
  moment: (stamp) => stamp.replace(/^(\d+)-(\d+)-(\d+) /, "$3.$2.$1, "),
  day: (day, month, year) => `${day}. ${MONTHS[month] ?? ""}${year === null ? "" : ` ${year}`}`,
  units: { s: "s", min: "min", h: "h", days: "Tage" },
  estimating: "wird geschätzt …",
  fewSecondsLeft: "noch wenige Sekunden",
  secondsLeft: (seconds) => `noch etwa ${seconds} s`,
  minuteLeft: "noch etwa eine Minute",
  minutesLeft: (minutes) => `noch etwa ${minutes} min`,
  hoursLeft: (hours, minutes) => `noch etwa ${hours} h${minutes === 0 ? "" : ` ${minutes} min`}`,
  justNow: "gerade eben",
  minutesAgo: (minutes) => `vor ${counted(minutes, "Minute", "Minuten")}`,
  hoursAgo: (hours) => `vor ${counted(hours, "Stunde", "Stunden")}`,
  daysAgo: (days) => `vor ${counted(days, "Tag", "Tagen")}`,
  monthsAgo: (months) => `vor ${counted(months, "Monat", "Monaten")}`,
  yearsAgo: (years) => `vor ${counted(years, "Jahr", "Jahren")}`,
};
