import Configuration

/// What a configuration asks for that this release does not do yet.
struct FeatureSupport {
  private(set) var notes: [String] = []

  init(_ configuration: PosternConfiguration) {
    if !configuration.preauthorization.isEmpty { notes.append("preauthorization is not in this release") }
    if configuration.http.listen != nil { notes.append("http.listen is not in this release") }
  }
}
