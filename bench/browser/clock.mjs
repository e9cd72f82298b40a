/** Processor seconds of this process, all its threads included. */
export function processorSeconds() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}
