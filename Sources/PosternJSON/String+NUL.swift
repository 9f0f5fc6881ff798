import Glibc

extension String {
  /// Whether U+0000 is in it. Asked of every string that comes in, some of which are long.
  var containsNUL: Bool {
    let found = utf8.withContiguousStorageIfAvailable { text in
      text.baseAddress.map { memchr($0, 0, text.count) != nil } ?? false
    }
    return found ?? utf8.contains(0)
  }
}
