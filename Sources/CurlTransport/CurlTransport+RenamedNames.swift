// Names that programs may still use.

extension CurlTransport.Configuration {
  /// See `longestIteration`.
  @available(*, deprecated, renamed: "longestIteration")
  public var turnPatience: Duration? {
    get { longestIteration }
    set { longestIteration = newValue }
  }
}
