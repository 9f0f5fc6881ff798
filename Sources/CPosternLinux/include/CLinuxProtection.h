// Restrictions that a process can impose on itself with prctl(2) and seccomp(2).
#ifndef POSTERN_CLINUX_PROTECTION_H
#define POSTERN_CLINUX_PROTECTION_H

// Makes executed programs gain no privileges from their files (PR_SET_NO_NEW_PRIVS), for the calling thread and those
// that it starts. Returns 0, or errno.
int clinux_forbid_new_privileges(void);

// Whether that is in force for the calling thread (PR_GET_NO_NEW_PRIVS).
int clinux_new_privileges_are_forbidden(void);

// Forbids making memory executable that is or was writable (PR_SET_MDWE, Linux 6.3). Libraries can still be loaded.
// Returns 0, or errno: EINVAL where the kernel does not support it.
int clinux_forbid_writable_code(void);

// Whether that is in force; 0 where the kernel does not support it.
int clinux_writable_code_is_forbidden(void);

// Whether the process can be dumped and traced by its own user (PR_GET_DUMPABLE).
int clinux_is_dumpable(void);

// Installs the filter of system calls permanently, in all threads. A forbidden call fails with EPERM; clone3 fails with
// ENOSYS, after which the C library uses clone, whose flags the filter can see; a call with the numbers of another
// architecture kills the process. Needs no_new_privs. Returns 0, or errno: ENOSYS and EINVAL where the kernel has no
// filters.
int clinux_filter_system_calls(void);

// Whether the calling thread has a filter (PR_GET_SECCOMP), and a harmless system call that this one forbids fails with
// EPERM.
int clinux_system_calls_are_filtered(void);

#endif
