// A second filter of system calls (seccomp(2)) for a process that has finished starting.
#ifndef POSTERN_CLINUX_SERVING_H
#define POSTERN_CLINUX_SERVING_H

// Installs the filter permanently, in all threads. It forbids, with EPERM, mapping code, changing owner, mode, times or
// attributes of files, watching directories, signals and priorities of other processes, and other calls that are needed
// only while starting. Needs no_new_privs. Returns 0, or errno: ENOSYS and EINVAL where the kernel has no filters.
int clinux_filter_serving_calls(void);

// Whether a harmless system call that this filter forbids fails with EPERM.
int clinux_serving_calls_are_filtered(void);

#endif
