#define _GNU_SOURCE
#include "CLinuxProtection.h"
#include "filter.h"

#include <errno.h>
#include <linux/netlink.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <netinet/in.h>
#include <unistd.h>

// Younger than the headers of Debian 12; the numbers are part of the kernel's ABI.
#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#define PR_GET_MDWE 66
#endif
#define NO_EXEC_GAIN 1

int clinux_forbid_new_privileges(void) { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ? errno : 0; }

int clinux_forbid_writable_code(void) { return prctl(PR_SET_MDWE, NO_EXEC_GAIN, 0, 0, 0) != 0 ? errno : 0; }

int clinux_writable_code_is_forbidden(void) {
  int flags = prctl(PR_GET_MDWE, 0, 0, 0, 0);
  return flags > 0 && (flags & NO_EXEC_GAIN) != 0;
}

int clinux_new_privileges_are_forbidden(void) { return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1; }

int clinux_is_dumpable(void) { return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0; }

int clinux_system_calls_are_filtered(void) {
  // With this argument personality(2) would change nothing.
  if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != SECCOMP_MODE_FILTER) return 0;
  return syscall(SYS_personality, 0xffffffffUL) < 0 && errno == EPERM;
}

#ifdef OWN_ARCHITECTURE

// System calls that no operation of the sidecar needs. Names that an architecture does not have are left out.
static const uint16_t forbidden[] = {
    // other programs and processes
    SYS_execve, SYS_execveat, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp,
#ifdef SYS_fork
    SYS_fork, SYS_vfork,
#endif
#ifdef SYS_pidfd_getfd
    SYS_pidfd_getfd,
#endif
#ifdef SYS_process_madvise
    SYS_process_madvise,
#endif
    // other users
    SYS_setuid, SYS_setgid, SYS_setreuid, SYS_setregid, SYS_setresuid, SYS_setresgid, SYS_setfsuid, SYS_setfsgid,
    SYS_setgroups, SYS_capset,
    // other views of the system
    SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_unshare, SYS_setns, SYS_sethostname, SYS_setdomainname,
#ifdef SYS_open_tree
    SYS_open_tree, SYS_move_mount, SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick,
#endif
#ifdef SYS_mount_setattr
    SYS_mount_setattr,
#endif
    // files that path rules do not cover
    SYS_open_by_handle_at, SYS_name_to_handle_at, SYS_fanotify_init, SYS_quotactl, SYS_acct, SYS_swapon, SYS_swapoff,
#ifdef SYS_quotactl_fd
    SYS_quotactl_fd,
#endif
    // the kernel itself
    SYS_kexec_load, SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_reboot, SYS_syslog, SYS_bpf,
    SYS_perf_event_open, SYS_userfaultfd, SYS_personality, SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime,
    SYS_adjtimex, SYS_vhangup, SYS_lookup_dcookie, SYS_move_pages, SYS_migrate_pages,
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
#ifdef SYS_iopl
    SYS_iopl, SYS_ioperm, SYS_modify_ldt,
#endif
#ifdef SYS_uselib
    SYS_uselib, SYS_sysfs, SYS__sysctl, SYS_ustat,
#endif
#ifdef SYS_io_uring_setup
    SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,
#endif
    // the kernel's key rings
    SYS_add_key, SYS_request_key, SYS_keyctl,
};

enum { FORBIDDEN = sizeof forbidden / sizeof forbidden[0] };

#define NAMESPACES \
  (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

// Each block is about one system call: it continues with the next block, with the number still loaded, or returns.
static const struct sock_filter begin[] = {
    LOAD(ARCHITECTURE),
    IS(OWN_ARCHITECTURE, 1, 0),
    GIVE(SECCOMP_RET_KILL_PROCESS),
    LOAD(NUMBER),
    // x32 has numbers of its own under the same architecture.
    AT_LEAST(0x40000000, 0, 1),
    GIVE(ERROR(ENOSYS)),

    // MSG_FASTOPEN connects without connect(), for which there is no rule for ports. First, because these calls are
    // frequent.
    WITHOUT(SYS_sendto, 3, MSG_FASTOPEN),
    WITHOUT(SYS_sendmsg, 2, MSG_FASTOPEN),
    WITHOUT(SYS_sendmmsg, 3, MSG_FASTOPEN),

    // Simulated input of a terminal, and its clipboard.
    IS(SYS_ioctl, 0, 5),
    LOAD(ARGUMENT(1)),
    IS(TIOCSTI, 1, 0),
    IS(TIOCLINUX, 0, 1),
    GIVE(DENY),
    GIVE(ALLOW),

    // Threads but no processes, and no other namespaces.
    IS(SYS_clone, 0, 5),
    LOAD(ARGUMENT(0)),
    HAS(NAMESPACES, 1, 0),
    HAS(CLONE_THREAD, 1, 0),
    GIVE(DENY),
    GIVE(ALLOW),
#ifdef SYS_clone3
    IS(SYS_clone3, 0, 1),
    GIVE(ERROR(ENOSYS)),
#endif

    // A process that is not dumpable must stay so.
    IS(SYS_prctl, 0, 6),
    LOAD(ARGUMENT(0)),
    IS(PR_SET_DUMPABLE, 0, 3),
    LOAD(ARGUMENT(1)),
    IS(0, 1, 0),
    GIVE(DENY),
    GIVE(ALLOW),

    // Sockets: Unix, IP (TCP and UDP only: there are no rules for the ports of others), and the one from which the C
    // library gets the interfaces' addresses.
    IS(SYS_socket, 0, 17),
    LOAD(ARGUMENT(0)),
    IS(AF_UNIX, 14, 0),
    IS(AF_NETLINK, 3, 0),
    IS(AF_INET, 4, 0),
    IS(AF_INET6, 3, 0),
    GIVE(ERROR(EAFNOSUPPORT)),
    LOAD(ARGUMENT(2)),
    IS(NETLINK_ROUTE, 8, 7),
    LOAD(ARGUMENT(1)),
    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf),
    IS(SOCK_RAW, 4, 0),
    LOAD(ARGUMENT(2)),
    IS(0, 3, 0),
    IS(IPPROTO_TCP, 2, 0),
    IS(IPPROTO_UDP, 1, 0),
    GIVE(DENY),
    GIVE(ALLOW),
};

enum { BEGIN = sizeof begin / sizeof begin[0] };
// The longest jump is 255 instructions.
_Static_assert(FORBIDDEN < 255, "too many system calls for one list");

int clinux_filter_system_calls(void) {
  struct sock_filter filter[BEGIN + FORBIDDEN + FILTER_END];
  return filter_install(filter, filter_finish(filter, begin, BEGIN, forbidden, FORBIDDEN));
}

#else

int clinux_filter_system_calls(void) { return ENOSYS; }

#endif
