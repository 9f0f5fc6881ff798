// One import for programs: the facade, the engine's values, and the store.

@_exported public import AuthEngine
@_exported public import HTTPMessages
public import PosternConfiguration
@_exported public import PosternJSON
@_exported public import PosternSupport
@_exported public import SessionStore

// The rest of that module is the configuration's text as values, with names that the engine has, too.

/// The mistakes in a configuration, all at once.
public typealias ConfigurationProblems = PosternConfiguration.ConfigurationProblems

/// A mistake in a configuration, with its position and key.
public typealias ConfigurationProblem = PosternConfiguration.ConfigurationProblem
