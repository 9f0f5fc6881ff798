// Linux-only structures, constants and calls that the Swift overlay of the C library lacks.
#ifndef POSTERN_CLINUX_H
#define POSTERN_CLINUX_H

#include <stdint.h>
#include <sys/types.h>

#include "CLinuxDescriptors.h"
#include "CLinuxEvents.h"
#include "CLinuxLandlock.h"
#include "CLinuxProtection.h"
#include "CLinuxServing.h"

// The credentials of the process that called connect() on the other end of the Unix stream socket `fd` (SO_PEERCRED);
// `pid` is 0 when the peer is in a PID namespace that this process cannot see. Returns 0, or errno.
int clinux_peer_credentials(int fd, uid_t *uid, gid_t *gid, pid_t *pid);

// The supplementary groups of that peer at connect() time (SO_PEERGROUPS): at most `capacity` of them into
// `groups`, their number into `count`. Returns 0, ERANGE with the needed number in `count`, or another errno.
int clinux_peer_groups(int fd, gid_t *groups, size_t capacity, size_t *count);

// A new descriptor (close-on-exec) for that peer's process (SO_PEERPIDFD, Linux 6.5), or -errno.
int clinux_peer_pidfd(int fd);

// A descriptor (close-on-exec) of the process `pid`, or -errno.
int clinux_process_open(pid_t pid);

// The effective user of the process `pid`, whose descriptor is `process`: by the descriptor (PIDFD_GET_INFO, from Linux
// 6.13 on), or by its directory in /proc, which may be hidden. Or -errno.
int64_t clinux_process_user(int process, pid_t pid);

// A pair of connected Unix stream sockets (close-on-exec). Returns 0, or errno.
int clinux_socket_pair(int ends[2]);

// Makes the kernel reject descriptors (SCM_RIGHTS) that are sent to the Unix socket `fd` (SO_PASSRIGHTS, Linux 6.16).
// Returns 0, or errno; ENOPROTOOPT with an older kernel.
int clinux_reject_descriptors(int fd);

// Forbids core dumps of this process, and debuggers of its own user (PR_SET_DUMPABLE 0). Returns 0, or errno.
int clinux_forbid_dumps(void);

// The arguments of the process, with the program's name, as the C library passes them to constructors. Available
// without /proc, from which Swift's CommandLine reads them. NULL for an index out of range.
int clinux_argument_count(void);
const char *clinux_argument(int index);

// The commit that the program was built from, where the build links an object that names it (the Makefile's `release`);
// else NULL.
const char *clinux_commit(void);

// Names the calling thread: at most 15 bytes of `name`, which ends with a zero (PR_SET_NAME).
void clinux_name_thread(const char *name);

// Makes malloc return to the system freed blocks of `block` bytes and more, and memory at the top of its heap from
// `free` bytes on. By default both thresholds grow with the blocks freed. Returns 0, or EINVAL.
int clinux_return_memory(int block, int free);

// Returns free memory of all arenas of malloc to the system.
void clinux_trim_memory(void);

// Unmaps the pages of code and constants of the program and its libraries. Those that are used again come back from the
// page cache, or from their files.
void clinux_release_code(void);

// The numbers of bytes sent over the TCP connection `fd` since its start, acknowledged by the peer's kernel or not.
// Returns 0; ENODATA where the kernel does not count them; or another errno.
int clinux_tcp_sent(int fd, uint64_t *acknowledged, uint64_t *outstanding);

#endif
