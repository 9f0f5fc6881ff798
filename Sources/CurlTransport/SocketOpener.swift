import CPosternCurl
import Glibc
import HTTPMessages
import PosternSupport

/// The way to a new connection for one transfer: the look-up of the host's name, and the sockets that libcurl opens,
/// one for each address it tries.
final class SocketOpener {
  private let handle: EasyHandle
  private var connectMilliseconds = 1
  private var mayBeLinkLocal = false
  /// Whether libcurl looks the host's name up. The thread that does so cannot be stopped, and has descriptors of its
  /// own.
  private(set) var isLookingUp = false
  /// Whether the exchange has ended before the look-up: no connection follows.
  private var isAbandoned = false
  /// The sockets opened for this exchange that have not become its connection yet.
  private var openedSockets: [Int32] = []
  /// Whether an address was not connected to because it is link-local.
  private(set) var hasRejectedAddress = false
  /// A socket was not opened for want of a descriptor.
  private(set) var lacksDescriptor = false

  init(_ handle: EasyHandle) { self.handle = handle }

  /// The error of a transfer whose every address was rejected, or whose host is such an address.
  static let addressRejection = TransportError(
    code: .addressNotAllowed, outcome: .notSent,
    detail: "the host is, or leads to, a link-local address, which only the configuration itself may name")

  /// Before an exchange that has `milliseconds` for connecting. Behind a proxy the address is the proxy's, which the
  /// configuration names.
  func prepare(for options: TransferOptions, milliseconds: Int, usesProxy: Bool) {
    connectMilliseconds = milliseconds
    mayBeLinkLocal = usesProxy || options.allowsLinkLocal
  }

  /// After an exchange.
  func reset() {
    isLookingUp = false
    isAbandoned = false
    openedSockets = []
    hasRejectedAddress = false
    lacksDescriptor = false
  }

  /// When the time for connecting is over, for an exchange that libcurl has had since `start`.
  func connectDue(since start: MonotonicInstant) -> MonotonicInstant { start + .milliseconds(connectMilliseconds) }

  /// Lets the look-up come to its end: no connection follows, and no time is set.
  func abandon() {
    isAbandoned = true
    handle.setConnectTime(.max)
  }

  /// The sockets that were opened since the last call.
  func takeSockets() -> [Int32] {
    defer { openedSockets = [] }
    return openedSockets
  }

  // MARK: - libcurl's callbacks

  func attach(in settings: inout Settings) {
    let this = Unmanaged.passUnretained(self).toOpaque()
    settings.set(CURLOPT_RESOLVER_START_DATA, pointer: this)
    settings.note(
      postern_curl_set_resolver_start(settings.easy) { _, _, pointer in
        if let pointer { Unmanaged<SocketOpener>.fromOpaque(pointer).takeUnretainedValue().beginLookUp() }
        // libcurl goes on.
        return 0
      }, CURLOPT_RESOLVER_START_FUNCTION)
    settings.set(CURLOPT_OPENSOCKETDATA, pointer: this)
    settings.note(
      postern_curl_set_open_socket(settings.easy) { pointer, _, address in
        guard let pointer, let address else { return CURL_SOCKET_BAD }
        return Unmanaged<SocketOpener>.fromOpaque(pointer).takeUnretainedValue().openSocket(to: address)
      }, CURLOPT_OPENSOCKETFUNCTION)
  }

  /// The host is about to be looked up: what libcurl knows already, it takes without asking.
  private func beginLookUp() {
    isLookingUp = true
    // When the time for connecting is over libcurl would leave the look-up to itself: the loop is to be first.
    handle.setConnectTime(connectMilliseconds + 1000)
  }

  /// There are addresses: from here on libcurl looks at the time by itself.
  private func endLookUp() {
    guard isLookingUp else { return }
    isLookingUp = false
    if !isAbandoned { handle.setConnectTime(connectMilliseconds) }
  }

  /// A socket for a new connection.
  private func openSocket(to address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
    endLookUp()
    guard !isAbandoned else { return CURL_SOCKET_BAD }
    guard mayConnect(to: address) else {
      hasRejectedAddress = true
      return CURL_SOCKET_BAD
    }
    // Close-on-exec from the start: a process that starts another must not hand it connections.
    let type = address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
    let descriptor = socket(address.pointee.family, type, address.pointee.protocol)
    guard descriptor >= 0 else {
      lacksDescriptor = errno == EMFILE || errno == ENFILE
      return CURL_SOCKET_BAD
    }
    openedSockets.append(descriptor)
    handle.way.begin()
    return descriptor
  }

  /// A name must not lead to where a cloud gives away its machines' credentials, and its server decides where it leads.
  private func mayConnect(to address: UnsafeMutablePointer<curl_sockaddr>) -> Bool {
    guard !mayBeLinkLocal else { return true }
    guard let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return false }
    let start = UnsafeRawPointer(address) + offset
    let bytes: UnsafeRawBufferPointer
    switch address.pointee.family {
    case AF_INET: bytes = UnsafeRawBufferPointer(start: start + 4, count: 4)
    case AF_INET6: bytes = UnsafeRawBufferPointer(start: start + 8, count: 16)
    default: return false
    }
    return IPAddress(bytes: bytes)?.isLinkLocal == false
  }
}
