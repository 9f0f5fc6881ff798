import CCurl
import Glibc
import HTTPMessages

/// The sockets that libcurl opens for an exchange, one for each address it tries.
extension Transfer {
  /// A socket for a new connection.
  static func openSocket(
    _ pointer: UnsafeMutableRawPointer?, _ address: UnsafeMutablePointer<curl_sockaddr>?
  ) -> curl_socket_t {
    guard let pointer, let address else { return CURL_SOCKET_BAD }
    let transfer = Unmanaged<Transfer>.fromOpaque(pointer).takeUnretainedValue()
    guard transfer.mayConnect(to: address) else {
      transfer.hasRefusedAddress = true
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

  /// What a name leads to is decided by whoever answers for it: not to where a cloud gives away its machines' credentials. Behind a
  /// proxy the address is the proxy's, which the configuration names.
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
