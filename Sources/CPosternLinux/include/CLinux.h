// What Glibc's Swift overlay does not show: Linux-only structures, constants and calls.
#ifndef POSTERN_CLINUX_H
#define POSTERN_CLINUX_H

#include <stdint.h>
#include <sys/types.h>

#include "CLinuxLandlock.h"
#include "CLinuxProtection.h"
#include "CLinuxServing.h"

// Who called connect() on the other end of the Unix stream socket `fd` (SO_PEERCRED); `pid` is 0 when the peer
// lives in a PID namespace that this process cannot see. Returns 0, or errno.
int clinux_peer_credentials(int fd, uid_t *uid, gid_t *gid, pid_t *pid);

// The supplementary groups of that peer at connect() time (SO_PEERGROUPS): at most `capacity` of them into
// `groups`, their number into `count`. Returns 0, ERANGE with the needed number in `count`, or another errno.
int clinux_peer_groups(int fd, gid_t *groups, size_t capacity, size_t *count);

// A new descriptor (close-on-exec) for that peer's process (SO_PEERPIDFD, Linux 6.5), or -errno.
int clinux_peer_pidfd(int fd);

// Has the kernel reject descriptors (SCM_RIGHTS) that are sent to the Unix socket `fd`, or to the connections that it
// accepts (SO_PASSRIGHTS, Linux 6.16). Returns 0, or errno; ENOPROTOOPT from an older kernel.
int clinux_refuse_descriptors(int fd);

// No core dump of this process, and no debugger of its own user either (PR_SET_DUMPABLE 0). Returns 0, or errno.
int clinux_forbid_dumps(void);

// The arguments the process was started with, as the C library gave them to its constructors: they are there without
// /proc, from which Swift's CommandLine reads them. The number of them with the program's name, and each; NULL behind
// the last.
int clinux_argument_count(void);
const char *clinux_argument(int place);

// Names the calling thread: at most 15 bytes of `name`, which ends with a zero (PR_SET_NAME).
void clinux_name_thread(const char *name);

// Has malloc give blocks of `block` bytes and more back to the system when they are freed, and `free` bytes at the top
// of its heap: instead of letting both grow with what was freed last. Returns 0, or EINVAL.
int clinux_return_memory(int block, int free);

// Gives back to the system what malloc holds and nothing uses, of all its arenas.
void clinux_trim_memory(void);

// How far the TCP connection `fd` has sent: the bytes that the peer's kernel has acknowledged, and those that it has
// not yet. Both count from the same place for the life of the connection. Returns 0; ENODATA where the kernel does not
// count them; or another errno.
int clinux_tcp_sent(int fd, uint64_t *acknowledged, uint64_t *outstanding);

#endif
