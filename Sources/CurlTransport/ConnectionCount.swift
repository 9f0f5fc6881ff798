import CCurl
import Glibc

/// Counts the connections libcurl holds. Owned by the loop, which outlives every connection.
///
/// libcurl announces the end of a socket only once it was in use: one that is given up while connecting is closed
/// without a word (7.88). So a socket counts from the moment a request is about to go over it.
final class ConnectionCount {
  private var descriptors: Set<Int32> = []

  var open: Int { descriptors.count }

  /// One of the sockets opened for a transfer has become its connection: the only one, or that with this local port.
  func add(_ candidates: [Int32], localPort: Int32) {
    guard candidates.count > 1 else { return descriptors.formUnion(candidates) }
    // The others lost the race between the server's addresses.
    if let winner = candidates.first(where: { Self.localPort(of: $0) == localPort }) { descriptors.insert(winner) }
  }

  /// Has the ends of the connections that `easy` makes reported; they may come long after its transfer.
  func attach(to easy: UnsafeMutableRawPointer, in settings: inout Settings) {
    settings.set(CURLOPT_CLOSESOCKETDATA, pointer: Unmanaged.passUnretained(self).toOpaque())
    let result = postern_curl_set_close_socket(easy) { pointer, descriptor in
      if let pointer {
        Unmanaged<ConnectionCount>.fromOpaque(pointer).takeUnretainedValue().descriptors.remove(descriptor)
      }
      return close(descriptor)
    }
    settings.note(result)
  }

  private static func localPort(of descriptor: Int32) -> Int32? {
    var address = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutableBytes(of: &address) { bytes -> Int32? in
      guard let start = bytes.baseAddress,
        getsockname(descriptor, start.assumingMemoryBound(to: sockaddr.self), &length) == 0
      else { return nil }
      // The port lies at the same place for both families.
      return Int32(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
    }
  }
}
