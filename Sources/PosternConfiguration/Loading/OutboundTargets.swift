/// What a configuration leads to outside of the process, noted while it was read.
public struct OutboundTargets: Sendable, Equatable {
  /// Every file that was read, or looked for: the configuration itself, secrets, certificates.
  public internal(set) var files: Set<String> = []
  /// The TCP ports of its URLs, each with a key that has one.
  public internal(set) var ports: [UInt16: String] = [:]

  /// Nothing.
  public init() {}
}
