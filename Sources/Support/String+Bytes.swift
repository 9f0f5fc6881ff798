import Glibc

extension String {
  /// Whether both hold the same UTF-8. `==` compares canonical equivalents, for which `é` in one scalar and in two are the same and U+212A
  /// (the Kelvin sign) is `K`: good for text, wrong for member names, ids, algorithm names and key ids.
  public func hasSameBytes(as other: String) -> Bool {
    let count = utf8.count
    guard count == other.utf8.count else { return false }
    let isSame = utf8.withContiguousStorageIfAvailable { left in
      other.utf8.withContiguousStorageIfAvailable { right in
        guard let left = left.baseAddress, let right = right.baseAddress else { return count == 0 }
        return memcmp(left, right, count) == 0
      }
    }
    return (isSame ?? nil) ?? utf8.elementsEqual(other.utf8)
  }
}
