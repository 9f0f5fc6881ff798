import CPosternCurl
import Glibc
import HTTPMessages
import PosternSupport

/// The sockets that libcurl opens for an exchange, one for each address it tries.
extension Transfer {
  /// The host is about to be looked up: what libcurl knows already, it takes without asking. Zero lets it go on.
  static func beginLookUp(_ pointer: UnsafeMutableRawPointer?) -> Int32 {
    guard let pointer else { return 0 }
    let transfer = Unmanaged<Transfer>.fromOpaque(pointer).takeUnretainedValue()
    transfer.isLookingUp = true
    // When the time for connecting is over libcurl would leave the look-up to itself: the loop is to be first.
    transfer.setConnectTime(transfer.connectMilliseconds + 1000)
    return 0
  }

  /// There are addresses: from here on libcurl looks at the time by itself.
  private func endLookUp() {
    guard isLookingUp else { return }
    isLookingUp = false
    if keptSlot == nil { setConnectTime(connectMilliseconds) }
  }

  /// libcurl reads it whenever it looks at the time.
  private func setConnectTime(_ milliseconds: Int) {
    _ = postern_curl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, min(milliseconds, Int(Int32.max)))
  }

  private var connectMilliseconds: Int { shape?.connectMilliseconds ?? 1 }

  /// When the time for connecting is over.
  var connectDue: MonotonicInstant { handedOverAt + .milliseconds(connectMilliseconds) }

  /// Releases `exchange` and lets the look-up come to its end, for which its slot is kept: no connection follows,
  /// and no time is set.
  func abandon(_ exchange: Exchange) {
    keptSlot = (exchange.request.url.origin, exchange.options.peerID)
    setConnectTime(.max)
    exchange.transfer = nil
    self.exchange = nil
    forgetBody()
  }

  /// A socket for a new connection.
  static func openSocket(
    _ pointer: UnsafeMutableRawPointer?, _ address: UnsafeMutablePointer<curl_sockaddr>?
  ) -> curl_socket_t {
    guard let pointer, let address else { return CURL_SOCKET_BAD }
    let transfer = Unmanaged<Transfer>.fromOpaque(pointer).takeUnretainedValue()
    transfer.endLookUp()
    guard transfer.keptSlot == nil else { return CURL_SOCKET_BAD }
    guard transfer.mayConnect(to: address) else {
      transfer.hasRejectedAddress = true
      return CURL_SOCKET_BAD
    }
    // Close-on-exec from the start: a process that starts another must not hand it connections.
    let type = address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
    let descriptor = socket(address.pointee.family, type, address.pointee.protocol)
    guard descriptor >= 0 else {
      transfer.lacksDescriptor = errno == EMFILE || errno == ENFILE
      return CURL_SOCKET_BAD
    }
    transfer.openedSockets.append(descriptor)
    return descriptor
  }

  /// A name must not lead to where a cloud gives away its machines' credentials, and its server decides where it leads.
  /// Behind a proxy the address is the proxy's, which the configuration names.
  private func mayConnect(to address: UnsafeMutablePointer<curl_sockaddr>) -> Bool {
    guard !usesProxy, exchange?.options.allowsLinkLocal != true else { return true }
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
