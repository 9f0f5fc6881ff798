/// The documents that follow from the declaration of the keys.
public enum ConfigurationSchema {
  /// The whole configuration, described.
  static let root: SectionSpecification = {
    let reader = SectionReader(describing: .describing())
    _ = PosternConfiguration(reading: reader)
    return reader.specification
  }()

  /// What both documents say about themselves.
  static let summary = """
    Configuration of Postern, an authentication sidecar. Durations are a whole number with a unit (250ms, 30s, 5m, 1h, 1d), sizes bytes or \
    a number with KiB, MiB, GiB. Every single value can be overridden by an environment variable: POSTERN__ and the path in upper case with \
    __ between the levels, as in POSTERN__LISTEN__PATH. A secret is given by a file (…File), by an environment variable (…Env), or, with a \
    warning, in the configuration itself. Relative paths begin at the configuration's directory; those of secrets and certificates first at \
    $CREDENTIALS_DIRECTORY.
    """
}
