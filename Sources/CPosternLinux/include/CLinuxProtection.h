// What a process can forbid itself besides Landlock: prctl(2) and seccomp(2).
#ifndef POSTERN_CLINUX_PROTECTION_H
#define POSTERN_CLINUX_PROTECTION_H

// No program that is executed gains rights from its file (PR_SET_NO_NEW_PRIVS), for the calling thread and what it
// starts. Returns 0, or errno.
int clinux_forbid_new_privileges(void);

// Whether that is in force for the calling thread (PR_GET_NO_NEW_PRIVS).
int clinux_new_privileges_are_forbidden(void);

// No memory can be made executable that is or was writable (PR_SET_MDWE, Linux 6.3). Libraries can still be loaded.
// Returns 0, or errno: EINVAL where the kernel does not know it.
int clinux_forbid_writable_code(void);

// Whether that is in force; 0 where the kernel does not know it.
int clinux_writable_code_is_forbidden(void);

// Whether the process can be dumped and traced by its own user (PR_GET_DUMPABLE).
int clinux_is_dumpable(void);

// Installs the filter of system calls in all threads, for good. What it forbids fails with EPERM; clone3 fails with
// ENOSYS, whereupon the C library takes clone, whose flags the filter can see; what comes in another architecture's
// numbers ends the process. Needs no_new_privs. Returns 0, or errno: ENOSYS and EINVAL where the kernel has no filters.
int clinux_filter_system_calls(void);

// Whether the calling thread has a filter (PR_GET_SECCOMP), and a system call that ours forbids, and that would change
// nothing, fails as ours has it.
int clinux_system_calls_are_filtered(void);

#endif
