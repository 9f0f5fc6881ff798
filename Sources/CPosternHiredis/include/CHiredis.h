// A blocking connection to a Redis server, plain or over TLS. hiredis connects, formats commands and parses replies.
// Bytes are sent and received here, because the hiredis of Debian 12 (0.14) has no TLS and no timeout for a whole
// command. The calling thread must block SIGPIPE, because OpenSSL writes to sockets without MSG_NOSIGNAL. Neither
// hiredis' nor OpenSSL's headers are visible to users of this module.
#ifndef POSTERN_CHIREDIS_H
#define POSTERN_CHIREDIS_H

#include <stddef.h>

typedef struct chiredis_connection chiredis_connection;
typedef struct chiredis_reply chiredis_reply;

enum { CHIREDIS_STATUS, CHIREDIS_ERROR, CHIREDIS_INTEGER, CHIREDIS_NIL, CHIREDIS_STRING, CHIREDIS_ARRAY };

enum { CHIREDIS_MESSAGE_SIZE = 256 };

// Connects over TCP, or over the Unix socket `path` when that is given. Null on failure, with the reason in `message`
// (CHIREDIS_MESSAGE_SIZE bytes). The name look-up has the resolver's own time limits.
chiredis_connection *chiredis_connect(const char *host, int port, const char *path, int timeout_ms, char *message);

// Starts TLS, checking the certificate against `ca_file`, or the system's authorities when that is null, and against
// `host`, a name or an address. Returns 0, or -1 with the reason in `message`.
int chiredis_start_tls(chiredis_connection *connection, const char *host, const char *ca_file, int timeout_ms,
                       char *message);

// Sends one command and waits for its reply, both within `timeout_ms`. Null on failure, with the reason in `message`;
// the connection is not usable then. `*sent` is 0 when no byte of the command had been sent.
chiredis_reply *chiredis_command(chiredis_connection *connection, int count, const char **arguments,
                                 const size_t *lengths, int timeout_ms, int *sent, char *message);

void chiredis_close(chiredis_connection *connection);

int chiredis_reply_kind(const chiredis_reply *reply);
long long chiredis_reply_integer(const chiredis_reply *reply);
const char *chiredis_reply_bytes(const chiredis_reply *reply, size_t *count);
size_t chiredis_reply_count(const chiredis_reply *reply);
// Belongs to `reply`.
const chiredis_reply *chiredis_reply_element(const chiredis_reply *reply, size_t index);
void chiredis_reply_free(chiredis_reply *reply);

#endif
