import CPosternCurl
import HTTPMessages
import PosternSupport

/// One easy handle and what it has received: used for one exchange after the other, by the loop's thread alone.
final class Transfer {
  /// Why a callback made libcurl stop.
  struct ReceptionError {
    let code: TransportError.Code
    let detail: String
  }

  let easy: UnsafeMutableRawPointer
  let errorText: UnsafeMutablePointer<CChar>
  let fieldLines = FieldLines()
  let connections: ConnectionCount
  let codedStreams: CodedStreams
  let receiveQueue: ReceiveQueue
  let limits: ResponseHead.Limits

  /// The shape that the handle is set up for; nil when it must be reset first.
  var shape: Shape?
  /// Sets up connections made for the shape's trust; nil where it requires nothing.
  var guardian: ConnectionGuard?
  /// Whether libcurl looks the host's name up. The thread that does so cannot be stopped, and has descriptors of its
  /// own.
  var isLookingUp = false
  /// The slot that is kept until the look-up ends, where the exchange has ended before.
  var keptSlot: (origin: HTTPURL.Origin, peerID: PeerID)?
  /// Its position in the loop's list.
  var position = 0
  var exchange: Exchange?
  var handedOverAt = MonotonicInstant(nanoseconds: 0)

  var head: ResponseHead
  var body: [UInt8] = []
  /// Whether the body is handed on in pieces instead of being kept.
  var isStreaming = false
  /// Its weight among the coded streams.
  var streamWeight = 0
  /// When something of it came last, or could come again.
  var streamMovedAt: MonotonicInstant?
  /// The clock of the deadlines.
  var clock: (any EngineClock)?
  /// The directions that libcurl pauses.
  var paused: Int32 = 0
  /// The iteration of the loop in which libcurl last handed over a piece of the body, and how many in it.
  var received = (iteration: UInt64(0), callbacks: 0)
  /// Paused after too many of them, until the receive queue resumes it.
  var isInReceiveQueue = false
  /// The number of bytes sent that the control knows of.
  var bytesReported: Int64 = 0
  var receptionError: ReceptionError?
  /// Why the exchange did not go on over its connection.
  var discarded: DiscardedConnection?
  /// Where in the connection's stream the request begins, until a response begins.
  var requestMark: RequestMark?
  /// How often the request was about to go.
  var attempts = 0
  /// How much libcurl had sent (to a proxy, say) when the request was about to be sent; nil before that.
  var bytesBeforeRequest: Int?
  /// The sockets opened for this exchange that have not become its connection yet.
  var openedSockets: [Int32] = []
  /// Whether an address was not connected to because it is link-local.
  var hasRejectedAddress = false
  /// A socket was not opened for want of a descriptor.
  var lacksDescriptor = false
  /// Whether connections go to a proxy.
  var usesProxy = false

  /// Nil when libcurl has no memory.
  init?(
    connections: ConnectionCount, codedStreams: CodedStreams, receiveQueue: ReceiveQueue, limits: ResponseHead.Limits
  ) {
    guard let easy = curl_easy_init() else { return nil }
    self.easy = easy
    self.connections = connections
    self.codedStreams = codedStreams
    self.receiveQueue = receiveQueue
    self.limits = limits
    head = ResponseHead(limits: limits)
    errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
    errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
  }

  /// The transfer behind an easy handle that the loop added.
  static func of(_ easy: UnsafeMutableRawPointer) -> Transfer? {
    var pointer: UnsafeMutablePointer<CChar>?
    guard postern_curl_get_private(easy, &pointer) == CURLE_OK, let pointer else { return nil }
    return Unmanaged<Transfer>.fromOpaque(UnsafeRawPointer(pointer)).takeUnretainedValue()
  }

  /// Releases the exchange; libcurl must not be working on the handle any more.
  func reset() {
    fieldLines.reset()
    if streamWeight > 0 { codedStreams.end(streamWeight, of: uid) }
    streamWeight = 0
    exchange = nil
    head = ResponseHead(limits: limits)
    body = []
    isStreaming = false
    streamMovedAt = nil
    paused = 0
    isInReceiveQueue = false
    bytesReported = 0
    receptionError = nil
    discarded = nil
    requestMark = nil
    attempts = 0
    bytesBeforeRequest = nil
    openedSockets = []
    isLookingUp = false
    keptSlot = nil
    hasRejectedAddress = false
    lacksDescriptor = false
    guardian?.forget()
  }

  /// The end, called by the loop.
  func cleanUp() {
    curl_easy_cleanup(easy)
    fieldLines.release()
    errorText.deallocate()
  }

  /// The uid for which the exchange is made.
  var uid: UInt32 { exchange?.options.peerID.uid ?? PeerID.process.uid }

  // MARK: - What libcurl knows

  func number(_ info: CURLINFO) -> Int {
    var value = 0
    return postern_curl_get_long(easy, info, &value) == CURLE_OK ? value : 0
  }

  func offset(_ info: CURLINFO) -> Int64 {
    var value: curl_off_t = 0
    return postern_curl_get_offset(easy, info, &value) == CURLE_OK ? Int64(value) : 0
  }

  /// Whether bytes of the request itself have left.
  var hasSent: Bool {
    guard let bytesBeforeRequest else { return false }
    return number(CURLINFO_REQUEST_SIZE) > bytesBeforeRequest
  }

  /// How far the exchange has come.
  var outcome: TransportError.Outcome {
    if head.isComplete { .replied } else if hasSent || exchange?.hasLeft == true { .sentNoReply } else { .notSent }
  }
}
