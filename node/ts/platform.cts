/** Which machine this is, in the words that name the binaries. */
import { existsSync, readdirSync } from 'node:fs';

/** What decides which binary fits. */
export interface Platform {
  /** As `process.platform`. */
  readonly os: string;
  /** As `process.arch`. */
  readonly arch: string;
  /** The C library, on Linux. */
  readonly libc?: 'gnu' | 'musl';
}

/** The platform that this process runs on. */
export function currentPlatform(): Platform {
  const { platform: os, arch } = process;
  return os === 'linux' ? { os, arch, libc: usesMusl() ? 'musl' : 'gnu' } : { os, arch };
}

/** Node's own report names the glibc that it runs on, and none where the C library is another. */
function usesMusl(): boolean {
  const report = process.report?.getReport() as unknown as { header?: { glibcVersionRuntime?: string } } | undefined;
  if (report?.header !== undefined) return report.header.glibcVersionRuntime === undefined;
  return existsSync('/lib') && readdirSync('/lib').some((name) => name.startsWith('ld-musl-'));
}

/** The platform's name in file and package names, for example `linux-x64-gnu`. */
export function triple({ os, arch, libc }: Platform): string {
  if (os === 'linux') return `linux-${arch}-${libc ?? 'gnu'}`;
  if (os === 'win32') return `win32-${arch}-msvc`;
  return `${os}-${arch}`;
}
