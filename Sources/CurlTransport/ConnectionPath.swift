/// Both ends of a TCP connection, in libcurl's words: no two open connections have the same.
struct ConnectionPath: Hashable {
  let remoteAddress: String
  let remotePort: Int32
  let localAddress: String
  let localPort: Int32
}
