// Figures as people read them: bytes, durations.

export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  for (; value >= 1024 && unit < units.length - 1; unit++) value /= 1024;
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

export function formatDuration(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const parts = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3600) % 24,
    Math.floor(seconds / 60) % 60,
    seconds % 60,
  ];
  const text = ['d', 'h', 'm', 's'].map((unit, i) => `${parts[i] ?? 0}${unit}`);
  const from = parts.findIndex((part) => part > 0);
  return text.slice(from < 0 ? 3 : from).join(' ');
}
