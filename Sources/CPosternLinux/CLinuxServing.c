// The second filter, for a process that has finished starting. It applies together with the first one: a system call
// that either forbids is forbidden.
#define _GNU_SOURCE
#include "CLinuxServing.h"
#include "filter.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/mman.h>
#include <sys/resource.h>

int clinux_serving_calls_are_filtered(void) {
  // Without the filter, the call fails because of the invalid flags.
  return syscall(SYS_inotify_init1, -1) < 0 && errno == EPERM;
}

#ifdef OWN_ARCHITECTURE

// The same on every architecture; missing from older headers.
enum {
  PIDFD_SEND_SIGNAL = 424,
  MEMFD_SECRET = 447,
  PROCESS_MRELEASE = 448,
  FCHMODAT2 = 452,
  STATMOUNT = 457,
  LISTMOUNT = 458,
  SETXATTRAT = 463,
  GETXATTRAT = 464,
  LISTXATTRAT = 465,
  REMOVEXATTRAT = 466,
  FILE_GETATTR = 468,
  FILE_SETATTR = 469,
};

static const uint16_t forbidden[] = {
    // owner, mode, times and attributes of files: Landlock has no rules for them
    SYS_fchmodat, FCHMODAT2, SYS_fchown, SYS_fchownat, SYS_utimensat,
    SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr, SETXATTRAT, SYS_getxattr, SYS_lgetxattr, SYS_fgetxattr, GETXATTRAT,
    SYS_listxattr, SYS_llistxattr, SYS_flistxattr, LISTXATTRAT, SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr,
    REMOVEXATTRAT, FILE_GETATTR, FILE_SETATTR,
#ifdef SYS_chmod
    SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat,
#endif
    // nor for truncating before Linux 6.2; files open for writing are truncated with ftruncate
    SYS_truncate,
    // nor for changing to a directory, or watching one
    SYS_chdir, SYS_fchdir, SYS_inotify_init1, SYS_inotify_add_watch, SYS_fanotify_mark, STATMOUNT, LISTMOUNT,
#ifdef SYS_inotify_init
    SYS_inotify_init,
#endif
    // symbolic links and devices
    SYS_symlinkat, SYS_mknodat,
#ifdef SYS_symlink
    SYS_symlink, SYS_mknod,
#endif
    // anonymous files, from which code could be mapped, and memory and queues of other processes
    SYS_memfd_create, MEMFD_SECRET, SYS_shmget, SYS_shmat, SYS_shmctl, SYS_semget, SYS_semop, SYS_semtimedop, SYS_semctl,
    SYS_msgget, SYS_msgsnd, SYS_msgrcv, SYS_msgctl, SYS_mq_open, SYS_mq_unlink, SYS_io_setup,
    // other processes
    PIDFD_SEND_SIGNAL, PROCESS_MRELEASE, SYS_tkill, SYS_ioprio_set, SYS_setrlimit, SYS_setpgid, SYS_setsid,
};

enum { FORBIDDEN = sizeof forbidden / sizeof forbidden[0] };
_Static_assert(FORBIDDEN < 255, "too many system calls for one list");

// The kind of an ioctl, in its second byte.
enum { KIND = 0xff00, FILE_FLAGS = 'f' << 8, FILE_ATTRIBUTES = 'X' << 8, BTRFS = 0x9400 };

int clinux_filter_serving_calls(void) {
  // The filter is not inherited by another process, since this one starts none.
  uint32_t own = (uint32_t)getpid();
  const struct sock_filter begin[] = {
      LOAD(ARCHITECTURE),
      IS(OWN_ARCHITECTURE, 1, 0),
      GIVE(SECCOMP_RET_KILL_PROCESS),
      LOAD(NUMBER),

      // No further executable memory, not even of a file that this process wrote. (PR_SET_MDWE, from Linux 6.3 on,
      // forbids only memory that was writable.)
      WITHOUT(SYS_mmap, 2, PROT_EXEC),
      WITHOUT(SYS_mprotect, 2, PROT_EXEC),
      WITHOUT(SYS_pkey_mprotect, 2, PROT_EXEC),

      // The store sets these modes on its files and on its folder; no other modes, so that nothing becomes accessible to
      // other users.
      IS(SYS_fchmod, 0, 5),
      LOAD(ARGUMENT(1)),
      IS(0600, 1, 0),
      IS(0700, 0, 1),
      GIVE(ALLOW),
      GIVE(DENY),

      // Signals on behalf of a descriptor, which can go to other processes; leases and notifications, which delay or
      // watch other processes.
      IS(SYS_fcntl, 0, 8),
      LOAD(ARGUMENT(1)),
      IS(F_SETOWN, 4, 0),
      IS(F_SETOWN_EX, 3, 0),
      IS(F_SETSIG, 2, 0),
      IS(F_NOTIFY, 1, 0),
      IS(F_SETLEASE, 0, 1),
      GIVE(DENY),
      GIVE(ALLOW),

      // Flags and attributes of files, by ioctl.
      IS(SYS_ioctl, 0, 9),
      LOAD(ARGUMENT(1)),
      IS(FIOSETOWN, 5, 0),
      IS(SIOCSPGRP, 4, 0),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, KIND),
      IS(FILE_FLAGS, 2, 0),
      IS(FILE_ATTRIBUTES, 1, 0),
      IS(BTRFS, 0, 1),
      GIVE(DENY),
      GIVE(ALLOW),

      // Priorities, limits and processors of the calling thread only. Limits can be read but not set.
      IS(SYS_setpriority, 0, 6),
      LOAD(ARGUMENT(0)),
      IS(PRIO_PROCESS, 0, 3),
      LOAD(ARGUMENT(1)),
      IS(0, 0, 1),
      GIVE(ALLOW),
      GIVE(DENY),
      IS(SYS_prlimit64, 0, 8),
      LOAD(ARGUMENT(0)),
      IS(0, 0, 5),
      LOAD(ARGUMENT(2)),
      IS(0, 0, 3),
      LOAD(ARGUMENT(2) + 4),
      IS(0, 0, 1),
      GIVE(ALLOW),
      GIVE(DENY),
      ONLY(SYS_sched_setaffinity, 0, 0),
      ONLY(SYS_sched_setscheduler, 0, 0),
      ONLY(SYS_sched_setparam, 0, 0),
      ONLY(SYS_sched_setattr, 0, 0),

      // Signals to this process only.
      ONLY(SYS_kill, 0, own),
      ONLY(SYS_tgkill, 0, own),
      ONLY(SYS_rt_sigqueueinfo, 0, own),
      ONLY(SYS_rt_tgsigqueueinfo, 0, own),
  };
  enum { BEGIN = sizeof begin / sizeof begin[0] };
  struct sock_filter filter[BEGIN + FORBIDDEN + FILTER_END];
  return filter_install(filter, filter_finish(filter, begin, BEGIN, forbidden, FORBIDDEN));
}

#else

int clinux_filter_serving_calls(void) { return ENOSYS; }

#endif
