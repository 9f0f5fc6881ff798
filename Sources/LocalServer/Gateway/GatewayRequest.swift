package import HTTPMessages
package import PosternSupport

/// A request of a program, as the listener read it: exactly one reading is possible, else it was rejected.
package struct GatewayRequest: Sendable {
  /// The program at the other end.
  package enum Program: Sendable, Hashable {
    /// A process on the Unix socket, by the kernel's word.
    case process(uid: UInt32, gid: UInt32, groups: [UInt32], pid: Int32)
    /// A program on the loopback address that has the listener's key.
    case loopback
  }

  /// The connection's number, unique in this process among the connections of the gateway.
  package var connection: UInt64
  /// The program that sends it.
  package var caller: Program
  /// The method, as sent: methods are case-sensitive.
  package var method: String
  /// The path, as sent, percent-encoding included. Begins with `/`; without a query.
  package var path: String
  /// The query, behind the first `?`; nil: there is none.
  package var query: String?
  /// The value of `Host`.
  package var authority: String
  /// All fields in their order but `Host`, `Content-Length`, `Postern-Key`, and those of one hop: the ones of RFC 9110
  /// section 7.6.1 and those that `Connection` names.
  package var fields: HTTPFields
  /// The body.
  package var body: any GatewayRequestBody
  /// Does the work of the connection's requests; nil: any thread does.
  package var executor: (any TaskExecutor & WorkPoster)?

  package init(
    connection: UInt64, caller: Program, method: String, path: String, query: String?, authority: String,
    fields: HTTPFields, body: any GatewayRequestBody, executor: (any TaskExecutor & WorkPoster)? = nil
  ) {
    self.connection = connection
    self.caller = caller
    self.method = method
    self.path = path
    self.query = query
    self.authority = authority
    self.fields = fields
    self.body = body
    self.executor = executor
  }
}

/// The body of a request, read as it comes: nothing is read from the socket before it is wanted.
package protocol GatewayRequestBody: Sendable {
  /// How many bytes it has; nil: it comes in chunks, and may be of any length. 0: there is none.
  var length: Int64? { get }
  /// The next bytes. The first call sends `100 Continue` where the client expects it.
  func next() async -> GatewayBodyPiece
}

/// A step of reading a body.
package enum GatewayBodyPiece: Sendable {
  /// Some bytes, at least one.
  case bytes([UInt8])
  /// The body has ended as its framing requires.
  case end
  /// It cannot be read to its end, for a reason that continues "the request's body …".
  case failed(String)
}
