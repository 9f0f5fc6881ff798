extension Dictionary where Value == Int {
  /// Counts one more of `key`; false when there are `limit` already.
  public mutating func countUp(_ key: Key, below limit: Int) -> Bool {
    let count = self[key, default: 0]
    guard count < limit else { return false }
    self[key] = count + 1
    return true
  }

  /// Counts one less of `key`, and removes it with the last one.
  public mutating func countDown(_ key: Key) {
    let left = self[key, default: 1] - 1
    self[key] = left > 0 ? left : nil
  }
}
