// What a process can forbid itself once it has started: a second filter of system calls, seccomp(2).
#ifndef POSTERN_CLINUX_SERVING_H
#define POSTERN_CLINUX_SERVING_H

// Installs the filter in all threads, for good. What it forbids fails with EPERM: mapping code, changing owner, mode,
// times or attributes of files, watching directories, signals and priorities of other processes, and what else only a
// start needs. Needs no_new_privs. Returns 0, or errno: ENOSYS and EINVAL where the kernel has no filters.
int clinux_filter_serving_calls(void);

// Whether a system call that this filter forbids, and that would change nothing, fails as it has it.
int clinux_serving_calls_are_filtered(void);

#endif
