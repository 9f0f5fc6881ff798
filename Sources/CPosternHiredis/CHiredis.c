#include "CHiredis.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// The largest accepted reply: more than any command used here returns.
#define MAXIMUM_REPLY_BYTES ((size_t)64 << 20)
#define MAXIMUM_ELEMENTS (1 << 20)

struct chiredis_connection {
  redisContext *redis;
  redisReplyObjectFunctions functions;
  SSL_CTX *tls_context;
  SSL *tls;
};

// The type with which hiredis counts the elements of an array.
#if HIREDIS_MAJOR >= 1
typedef size_t array_count;
#else
typedef int array_count;
#endif

// hiredis' default functions, the same for every connection.
static void *(*_Atomic create_array)(const redisReadTask *, array_count);

// Bounds the arrays that hiredis allocates in advance, by the length that the server announces.
static void *create_bounded_array(const redisReadTask *task, array_count count) {
  return count > MAXIMUM_ELEMENTS ? NULL : create_array(task, count);
}

static int64_t now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void explain(char *message, const char *what, const char *why) {
  snprintf(message, CHIREDIS_MESSAGE_SIZE, "%s%s%s", what, why[0] ? ": " : "", why);
}

// Waits for `events`; 0, or -1 with a message.
static int wait_for(int fd, short events, int64_t deadline, char *message) {
  for (;;) {
    int64_t left = deadline - now_ms();
    if (left <= 0) {
      explain(message, "timed out", "");
      return -1;
    }
    struct pollfd poller = {.fd = fd, .events = events};
    int ready = poll(&poller, 1, left > INT32_MAX ? INT32_MAX : (int)left);
    if (ready > 0) return 0;
    if (ready < 0 && errno != EINTR) {
      explain(message, "poll", strerror(errno));
      return -1;
    }
  }
}

// The events that a TLS call needs next after it returned `result`: 0 for none, -1 with a message on failure.
static int tls_events(const chiredis_connection *connection, int result, const char *what, char *message) {
  switch (SSL_get_error(connection->tls, result)) {
  case SSL_ERROR_WANT_READ: return POLLIN;
  case SSL_ERROR_WANT_WRITE: return POLLOUT;
  case SSL_ERROR_ZERO_RETURN: explain(message, what, "the server closed the connection"); return -1;
  case SSL_ERROR_SYSCALL:
    explain(message, what, errno != 0 ? strerror(errno) : "the server closed the connection");
    return -1;
  default: {
    long verdict = SSL_get_verify_result(connection->tls);
    const char *reason = ERR_reason_error_string(ERR_peek_error());
    explain(message, what, verdict != X509_V_OK ? X509_verify_cert_error_string(verdict) : reason ? reason : "TLS");
    return -1;
  }
  }
}

chiredis_connection *chiredis_connect(const char *host, int port, const char *path, int timeout_ms, char *message) {
  struct timeval timeout = {.tv_sec = timeout_ms / 1000, .tv_usec = (timeout_ms % 1000) * 1000};
  redisContext *redis =
      path != NULL ? redisConnectUnixWithTimeout(path, timeout) : redisConnectWithTimeout(host, port, timeout);
  chiredis_connection *connection = redis != NULL ? calloc(1, sizeof *connection) : NULL;
  int flags = -1;
  if (connection == NULL || redis->err != 0) {
    explain(message, "cannot connect", redis != NULL && redis->err != 0 ? redis->errstr : "out of memory");
  } else if ((flags = fcntl(redis->fd, F_GETFL)) < 0 || fcntl(redis->fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
             fcntl(redis->fd, F_SETFD, FD_CLOEXEC) != 0) {
    explain(message, "cannot connect", strerror(errno));
    flags = -1;
  }
  if (flags < 0) {
    if (redis != NULL) redisFree(redis);
    free(connection);
    return NULL;
  }
  connection->redis = redis;
  connection->functions = *redis->reader->fn;
  create_array = connection->functions.createArray;
  connection->functions.createArray = create_bounded_array;
  redis->reader->fn = &connection->functions;
  return connection;
}

int chiredis_start_tls(chiredis_connection *connection, const char *host, const char *ca_file, int timeout_ms,
                       char *message) {
  int64_t deadline = now_ms() + timeout_ms;
  ERR_clear_error();
  SSL_CTX *context = connection->tls_context = SSL_CTX_new(TLS_client_method());
  if (context == NULL || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1) {
    explain(message, "TLS", "cannot start");
    return -1;
  }
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  if ((ca_file != NULL ? SSL_CTX_load_verify_file(context, ca_file) : SSL_CTX_set_default_verify_paths(context)) != 1) {
    explain(message, "TLS", "cannot read the certificate authorities");
    return -1;
  }
  SSL *tls = connection->tls = SSL_new(context);
  unsigned char address[sizeof(struct in6_addr)];
  int is_address = inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
  if (tls == NULL || SSL_set_fd(tls, connection->redis->fd) != 1 ||
      (is_address ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls), host) != 1
                  : SSL_set1_host(tls, host) != 1 || SSL_set_tlsext_host_name(tls, host) != 1)) {
    explain(message, "TLS", "cannot start");
    return -1;
  }
  SSL_set_hostflags(tls, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  for (;;) {
    ERR_clear_error();
    errno = 0;
    int result = SSL_connect(tls);
    if (result == 1) return 0;
    int events = tls_events(connection, result, "TLS handshake", message);
    if (events < 0 || wait_for(connection->redis->fd, (short)events, deadline, message) != 0) return -1;
  }
}

// Tries to write once; returns the count, or 0 with the events to wait for in `events`, or -1 with a message.
static ssize_t write_some(chiredis_connection *connection, const char *bytes, size_t count, int *events,
                          char *message) {
  errno = 0;
  if (connection->tls != NULL) {
    ERR_clear_error();
    int result = SSL_write(connection->tls, bytes, count > INT32_MAX ? INT32_MAX : (int)count);
    if (result > 0) return result;
    *events = tls_events(connection, result, "cannot send", message);
    return *events < 0 ? -1 : 0;
  }
  ssize_t result = send(connection->redis->fd, bytes, count, MSG_NOSIGNAL);
  if (result >= 0) return result;
  *events = errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK ? POLLOUT : -1;
  if (*events < 0) explain(message, "cannot send", strerror(errno));
  return *events < 0 ? -1 : 0;
}

// Tries to read once, with the same results.
static ssize_t read_some(chiredis_connection *connection, char *bytes, size_t count, int *events, char *message) {
  errno = 0;
  if (connection->tls != NULL) {
    ERR_clear_error();
    int result = SSL_read(connection->tls, bytes, (int)count);
    if (result > 0) return result;
    *events = tls_events(connection, result, "no answer", message);
    return *events < 0 ? -1 : 0;
  }
  ssize_t result = recv(connection->redis->fd, bytes, count, 0);
  if (result > 0) return result;
  *events = result < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK) ? POLLIN : -1;
  if (*events < 0) {
    explain(message, "no answer", result == 0 ? "the server closed the connection" : strerror(errno));
  }
  return *events < 0 ? -1 : 0;
}

static int send_all(chiredis_connection *connection, const char *bytes, size_t count, int64_t deadline, int *sent,
                    char *message) {
  while (count > 0) {
    int events = 0;
    ssize_t written = write_some(connection, bytes, count, &events, message);
    if (written < 0) return -1;
    if (written == 0 && wait_for(connection->redis->fd, (short)events, deadline, message) != 0) return -1;
    if (written > 0) *sent = 1;
    bytes += written;
    count -= (size_t)written;
  }
  return 0;
}

chiredis_reply *chiredis_command(chiredis_connection *connection, int count, const char **arguments,
                                 const size_t *lengths, int timeout_ms, int *sent, char *message) {
  int64_t deadline = now_ms() + timeout_ms;
  *sent = 0;
  char *command = NULL;
  int size = redisFormatCommandArgv(&command, count, arguments, lengths);
  if (size < 0) {
    explain(message, "cannot send", "out of memory");
    return NULL;
  }
  int failed = send_all(connection, command, (size_t)size, deadline, sent, message);
  // The command may contain a password.
  OPENSSL_cleanse(command, (size_t)size);
  redisFreeCommand(command);
  if (failed != 0) return NULL;

  redisReader *reader = connection->redis->reader;
  char buffer[16384];
  for (size_t received = 0;;) {
    void *reply = NULL;
    if (redisReaderGetReply(reader, &reply) != REDIS_OK) {
      explain(message, "no answer", reader->errstr);
      return NULL;
    }
    if (reply != NULL) return reply;
    int events = 0;
    ssize_t got = read_some(connection, buffer, sizeof buffer, &events, message);
    if (got < 0) return NULL;
    if (got == 0 && wait_for(connection->redis->fd, (short)events, deadline, message) != 0) return NULL;
    received += (size_t)got;
    if (received > MAXIMUM_REPLY_BYTES) {
      explain(message, "no answer", "the reply is too large");
      return NULL;
    }
    if (got > 0 && redisReaderFeed(reader, buffer, (size_t)got) != REDIS_OK) {
      explain(message, "no answer", reader->errstr);
      return NULL;
    }
  }
}

void chiredis_close(chiredis_connection *connection) {
  if (connection == NULL) return;
  if (connection->tls != NULL) {
    ERR_clear_error();
    (void)SSL_shutdown(connection->tls);
    SSL_free(connection->tls);
  }
  SSL_CTX_free(connection->tls_context);
  ERR_clear_error();
  redisFree(connection->redis);
  free(connection);
}

static const redisReply *redis_reply(const chiredis_reply *reply) { return (const redisReply *)reply; }

int chiredis_reply_kind(const chiredis_reply *reply) {
  switch (redis_reply(reply)->type) {
  case REDIS_REPLY_STATUS: return CHIREDIS_STATUS;
  case REDIS_REPLY_INTEGER: return CHIREDIS_INTEGER;
  case REDIS_REPLY_NIL: return CHIREDIS_NIL;
  case REDIS_REPLY_STRING: return CHIREDIS_STRING;
  case REDIS_REPLY_ARRAY: return CHIREDIS_ARRAY;
  default: return CHIREDIS_ERROR;
  }
}

long long chiredis_reply_integer(const chiredis_reply *reply) { return redis_reply(reply)->integer; }

const char *chiredis_reply_bytes(const chiredis_reply *reply, size_t *count) {
  *count = (size_t)redis_reply(reply)->len;
  return redis_reply(reply)->str;
}

size_t chiredis_reply_count(const chiredis_reply *reply) { return redis_reply(reply)->elements; }

const chiredis_reply *chiredis_reply_element(const chiredis_reply *reply, size_t index) {
  return (const chiredis_reply *)redis_reply(reply)->element[index];
}

void chiredis_reply_free(chiredis_reply *reply) { freeReplyObject(reply); }
