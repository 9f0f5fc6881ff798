extension String {
  /// Whether both hold the same UTF-8. `==` compares canonical equivalents, for which `é` in one scalar and in two are the same and U+212A
  /// (the Kelvin sign) is `K`: good for text, wrong for member names, ids, algorithm names and key ids.
  public func hasSameBytes(as other: String) -> Bool {
    utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
  }
}
