// Descriptors that come over a Unix socket (SCM_RIGHTS, unix(7)), and reading and writing them without blocking and
// without changing their file status flags, which the sender shares.
#ifndef POSTERN_CLINUX_DESCRIPTORS_H
#define POSTERN_CLINUX_DESCRIPTORS_H

#include <stddef.h>
#include <sys/types.h>

// The most descriptors that the kernel passes at a time (SCM_MAX_FD).
enum { CLINUX_MAX_DESCRIPTORS = 253 };

// Reads from the Unix stream socket `fd` without blocking. Descriptors that come along (close-on-exec) go into
// `descriptors`, which has a capacity of CLINUX_MAX_DESCRIPTORS, their number into `count`; `lost` is set when this
// process could not take all of them. Returns the number of bytes, or -errno.
ssize_t clinux_receive(int fd, void *buffer, size_t size, int *descriptors, int *count, int *lost);

// Sends to the Unix stream socket `fd` without blocking and without SIGPIPE; `descriptors`, CLINUX_MAX_DESCRIPTORS at
// most, go with the first byte. Returns the number of bytes, or -errno: then nothing was passed.
ssize_t clinux_send(int fd, const void *bytes, size_t size, const int *descriptors, int count);

// What a descriptor is.
enum clinux_kind {
  // Nothing that a body can be read from or written to.
  CLINUX_OTHER,
  // A pipe or FIFO.
  CLINUX_PIPE,
  // A connected stream socket.
  CLINUX_SOCKET,
  // A file in memory (memfd, tmpfs).
  CLINUX_MEMORY_FILE,
  // Another file: each read and write may block.
  CLINUX_FILE,
  // A character device: the same.
  CLINUX_DEVICE,
};

// The kind of `fd`, without a request to the server of a network or FUSE file system. Never blocks.
enum clinux_kind clinux_kind(int fd);

// Whether `fd` is open for reading, and for writing.
int clinux_is_readable(int fd);
int clinux_is_writable(int fd);

// A pipe of this process (close-on-exec, non-blocking). Returns 0, or errno.
int clinux_pipe(int ends[2]);

// Moves up to `size` bytes between two pipes without blocking (splice(2)). Returns their number, 0 at the end, or
// -errno.
ssize_t clinux_move(int from, int to, size_t size);

// Writes to a stream socket without blocking and without SIGPIPE. Returns the number of bytes, or -errno.
ssize_t clinux_socket_write(int fd, const void *bytes, size_t size);

// Waits until `fd` can be read (`writing` 0) or written, or has failed, or cannot be waited for. Returns 0 when the
// eventfd `wakeup` became readable instead.
int clinux_wait(int fd, int writing, int wakeup);

// Whether the stream socket `fd` has bytes that were not read.
int clinux_has_unread(int fd);

// Whether bytes that were sent on the Unix stream socket `fd` were not read by its peer, which has not closed either.
int clinux_is_unread_by_peer(int fd);

#endif
